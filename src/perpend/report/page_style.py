"""The style of the page: one column of about 70 characters, light and dark, phone and paper."""

from __future__ import annotations

STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #fdfcf9; --ink: #1c1b19; --quiet: #5d5a54; --line: #ddd8cd; --raised: #f4f1ea; --accent: #9a3412;
  --text: Charter, "Bitstream Charter", "Sitka Text", Cambria, Georgia, serif;
  --plain: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #191817; --ink: #e8e5df; --quiet: #a5a098; --line: #3a3733; --raised: #232120; --accent: #f0a070;
  }
}
*, *::before, *::after { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2.5rem 1.25rem 4rem; max-width: calc(70ch + 2.5rem);
  background: var(--paper); color: var(--ink);
  font: 1.0625rem/1.6 var(--text); font-kerning: normal; text-wrap: pretty; overflow-wrap: break-word;
}
h1, h2 { font-family: var(--plain); line-height: 1.2; text-wrap: balance; }
h1 { font-size: 1.9rem; letter-spacing: -0.015em; margin: 0 0 0.6rem; }
h2 { font-size: 1.3rem; letter-spacing: -0.01em; margin: 3rem 0 0.75rem; padding-top: 1.1rem;
     border-top: 1px solid var(--line); }
p { margin: 0 0 1rem; }
.lead { font-size: 1.15rem; color: var(--quiet); margin-bottom: 1.75rem; }
.small, figcaption, footer { font-size: 0.9rem; line-height: 1.5; color: var(--quiet); }
code, pre { font-family: var(--mono); font-size: 0.85em; }
p code, td code { overflow-wrap: anywhere; }
strong { font-weight: 650; }
data { font-variant-numeric: tabular-nums lining-nums; white-space: nowrap; }
.ci { color: var(--quiet); font-variant-numeric: tabular-nums lining-nums; white-space: nowrap; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr)); gap: 0.75rem;
         margin: 0 0 1.5rem; }
.card { background: var(--raised); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.85rem 1rem; }
.card p { margin: 0; font-family: var(--plain); }
.card .label { font-size: 0.85rem; font-weight: 600; line-height: 1.3; margin: 0 0 0.3rem; color: var(--quiet); }
.card .big { font-size: 1.8rem; font-weight: 650; line-height: 1.15; letter-spacing: -0.02em; color: var(--accent); }
.card .under { font-size: 0.85rem; color: var(--quiet); }
.card .note { font-size: 0.85rem; line-height: 1.4; margin-top: 0.45rem; }
.scroll { overflow-x: auto; margin: 0 0 1.25rem; }
.scroll:focus-visible, pre:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font: 0.875rem/1.45 var(--plain); }
caption { text-align: left; color: var(--quiet); padding: 0 0 0.4rem; }
th, td { text-align: left; padding: 0.4rem 0.9rem 0.4rem 0; vertical-align: top; border-bottom: 1px solid var(--line);
         font-variant-numeric: tabular-nums lining-nums; }
thead th { font-weight: 600; color: var(--quiet); border-bottom: 1.5px solid var(--quiet); vertical-align: bottom; }
tbody th { font-weight: 600; min-width: 8rem; }
td .ci { white-space: nowrap; }
figure { margin: 0 0 1.5rem; }
img { display: block; max-width: 100%; height: auto; margin: 0 auto; border-radius: 0.4rem; background: #fff; }
figcaption { margin-top: 0.6rem; }
.said { border-left: 3px solid var(--line); padding-left: 1rem; margin: 0 0 1.25rem; }
.said .question { font-weight: 650; margin-bottom: 0.4rem; }
dl { margin: 0; }
dt { font: 600 0.8rem/1.4 var(--plain); color: var(--quiet); margin-top: 0.5rem; }
dd { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
.facts { margin-bottom: 1.25rem; }
.facts dt { color: var(--ink); margin-top: 0.8rem; }
.facts dd { font-size: 0.9rem; line-height: 1.5; color: var(--quiet); white-space: normal; }
pre { background: var(--raised); border: 1px solid var(--line); border-radius: 0.6rem; padding: 0.8rem 1rem;
      overflow-x: auto; line-height: 1.5; margin: 0 0 1.25rem; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line); }
@media (max-width: 30rem) {
  body { padding-top: 1.5rem; font-size: 1rem; }
  h1 { font-size: 1.5rem; }
  .cards { grid-template-columns: 1fr 1fr; gap: 0.5rem; }
  .card { padding: 0.7rem 0.75rem; }
  .card .big { font-size: 1.5rem; }
}
@media print {
  :root { --paper: #fff; --ink: #000; --quiet: #444; --line: #bbb; --raised: #fff; --accent: #000; }
  @page { margin: 18mm 16mm; }
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  h2 { break-after: avoid; margin-top: 1.5rem; }
  .card, figure, tr, .said { break-inside: avoid; }
  .scroll, pre { overflow: visible; }
  pre { white-space: pre-wrap; }
  img { max-width: 13cm; max-height: 11cm; width: auto; }
}
"""
