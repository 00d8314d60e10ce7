"""reference_test's checks, as TAP."""
import json
import os
import tempfile

from attnc import call
from check import check, run
from draws import check_draws
from fields import FIELDS, GROUPS, SIDES, SILENT, View, flatten
from forms import form
from searches import check_search, random_search

HERE = "tests/reference/fields.py"


def ok(number, good, name):
    print(f"{'ok' if good else 'not ok'} {number} - {name}", flush=True)


def fields_are_known():
    """Each key of `attnc fields` has a line in one table, and no other."""
    keys = {field["key"]: field
            for field in json.loads(call("fields", "--format=json"))}
    wrong = [f"{key}: write its line in {HERE}" for key in keys
             if (key in FIELDS) + (key in GROUPS) + (key in SILENT) != 1]
    wrong += [f"{key}: attnc has no such field; leave it out of {HERE}"
              for table in (FIELDS, GROUPS, SILENT) for key in table
              if key not in keys]
    wrong += [f"{key}: sets {', '.join(keys[key].get('sets', []))}"
              for key in GROUPS if key in keys and
              sorted(keys[key].get("sets", [])) != sorted(GROUPS[key])]
    for line in wrong:
        print("# " + line)
    return not wrong


def fields_are_drawn():
    """Each field that a number depends on is in some random spec. `names` are
    drawn later, of the weights that a model has (given.py)."""
    drawn = {"names"}
    for seed in range(1, 2001):
        for spec in (form(seed), random_search(seed)[0]):
            drawn.update(flatten(spec))
            for side in SIDES:
                for row in View(spec, side).rows():
                    drawn.update(flatten(row))
    missing = [key for key in FIELDS if key not in drawn]
    for key in missing:
        print(f"# {key}: draw it in tests/reference/forms.py")
    return not missing


def main():
    print("1..5")
    ok(1, fields_are_known(), "each field has its line")
    ok(2, fields_are_drawn(), "random specs have each field")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "passed")
        kinds = (("form", 100, lambda seed: check(seed, 0)),
                 ("search", 40, check_search), ("draws", 6, check_draws))
        for number, (name, count, one) in enumerate(kinds, 3):
            print(f"# {count} of kind {name}")
            failed = run(name, range(1, count + 1), one, path, set(), "# ")
            ok(number, not failed, f"{count} of kind {name} agree")


main()
