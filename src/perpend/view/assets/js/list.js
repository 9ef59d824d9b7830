// A list of any length of which only the rows on the screen exist. The rows are in a layer that sticks to the window of
// the list, so that a fast scroll shows the rows before, never a blank.

const PRINTED = 300;

class VirtualList {
  /** `row(n, isCursor)` makes the element of row n; `head` is the element above the rows; `label` names the list. */
  constructor({ label, columns, head, height, row, empty = "No trial passes these filters." }) {
    Object.assign(this, { height, row, empty, n: 0, cursor: -1, first: -1 });
    this.body = h("div.rows", { role: "rowgroup" });
    this.layer = h("div.layer", {}, head ? h("div.head", { role: "rowgroup" }, head) : null, this.body);
    this.table = h("div.table", { role: "table", "aria-label": label, "aria-colcount": columns }, this.layer);
    this.scroller = h("div.scroller", { tabindex: "0", role: "region", "aria-label": label }, this.table);
    this.scroller.addEventListener("scroll", () => this.draw(), { passive: true });
    this.head = head;
    new ResizeObserver(() => this.scroller.clientHeight !== this.drawnHeight && this.draw(true)).observe(this.scroller);
  }

  /** Say how many rows there are, which is the current one and where the list is scrolled to; then draw it. */
  set(n, cursor, top, left) {
    this.n = n;
    this.cursor = cursor;
    this.table.setAttribute("aria-rowcount", String(n + (this.head ? 1 : 0)));
    this.stretch();
    this.scroller.scrollTop = top;
    this.scroller.scrollLeft = left;
    this.draw(true);
  }

  /** As high as all rows would be. */
  stretch() {
    this.headHeight = this.head?.parentNode.offsetHeight ?? 0;
    this.table.style.height = `${Math.max(1, this.n) * this.height + this.headHeight}px`;
  }

  get space() {
    return Math.max(this.height, this.scroller.clientHeight - this.headHeight);
  }

  draw(isForced = false) {
    const isPrinting = document.documentElement.classList.contains("is-printing");
    if (isPrinting) this.table.style.height = "";
    else if (isForced) this.stretch();
    this.drawnHeight = this.scroller.clientHeight;
    const top = isPrinting ? 0 : Math.max(0, Math.min(this.scroller.scrollTop, this.n * this.height - this.space));
    const first = Math.floor(top / this.height);
    const shown = isPrinting
      ? Math.min(this.n, PRINTED)
      : Math.min(this.n - first, Math.ceil(this.space / this.height) + 1);
    this.body.style.transform = `translateY(${-(top - first * this.height)}px)`;
    if (!isForced && first === this.first && shown === this.body.childElementCount) return;
    const hadFocus = this.body.contains(document.activeElement);
    this.first = first;
    const rows = [];
    for (let n = first; n < first + shown; n++) {
      const element = this.row(n, n === this.cursor);
      element.setAttribute("role", "row");
      element.setAttribute("aria-rowindex", String(n + 1 + (this.head ? 1 : 0)));
      element.style.height = `${this.height}px`;
      if (n === this.cursor) element.setAttribute("aria-current", "true");
      rows.push(element);
    }
    this.body.replaceChildren(...rows);
    if (!this.n) this.body.append(h("p.empty", {}, this.empty));
    if (isPrinting && this.n > PRINTED)
      this.body.append(h("p.empty", {}, `The first ${PRINTED} of ${count(this.n)} rows are printed.`));
    if (hadFocus && !this.focusCursor()) this.scroller.focus({ preventScroll: true });
  }

  focusCursor() {
    const link = this.body.querySelector("[aria-current] a, [aria-current] button");
    link?.focus({ preventScroll: true });
    return Boolean(link);
  }

  /** Make a row the current one, bring it into sight and focus it. */
  moveTo(n) {
    if (!this.n) return;
    this.cursor = Math.max(0, Math.min(this.n - 1, n));
    this.reveal();
    this.focusCursor();
  }

  /** Scroll as little as it takes to see the current row. */
  reveal() {
    const top = this.cursor * this.height;
    if (top < this.scroller.scrollTop) this.scroller.scrollTop = top;
    else if (top + this.height > this.scroller.scrollTop + this.space)
      this.scroller.scrollTop = top + this.height - this.space;
    this.draw(true);
  }
}

/** The list on the screen at the moment, for the keys. */
let LIST = null;

for (const [event, isPrinting] of [
  ["beforeprint", true],
  ["afterprint", false],
]) {
  addEventListener(event, () => {
    document.documentElement.classList.toggle("is-printing", isPrinting);
    LIST?.draw(true);
  });
}
