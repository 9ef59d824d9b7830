import perpend as pp


def brief(item, text):
    """1 for an answer of at most four words."""
    return len(text.split()) <= 4


def model(prompt):
    return "Paris" if "France" in prompt else "That I really do not know at all"


items = [
    {"id": c, "prompt": f"What is the capital of {c}?", "target": t}
    for c, t in (("France", "Paris"), ("Spain", "Madrid"), ("Italy", "Rome"), ("Peru", "Lima"))
]
run = pp.evaluate(pp.task("questions", items=items, scorers=[brief]), model, name="script", quiet=True)
print(run["brief"].rate(), run["correct"].rate())
pp.export(run, "script.csv")
pp.publish(run, to="published_script", figures=False)
pp.audit("published_script", trust_code=True).raise_for_failures()
