"""junit.xml: one case per subject and schedule, as CI servers read it."""

import re
from collections import defaultdict
from xml.etree import ElementTree as ET

from killtest.gate.breach import Breach, Line
from killtest.gate.judgement import Judgement
from killtest.gate.tally import Tally

# What XML 1.0 can't carry, in whatever form: a crawler's output may hold it.
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(judgement: Judgement, folder: str) -> bytes:
    """The judgement as JUnit XML: FAIL is a failure, UNKNOWN an error, with evidence and reproduce command.

    Breaches about a subject as a whole become a case of their own called `budget`, so that no server shows green.
    """
    root = ET.Element("testsuites", name="killtest gate")
    by_subject: dict[str, list[Breach]] = defaultdict(list)
    for breach in judgement.breaches:
        by_subject[breach.subject].append(breach)
    for tally in judgement.tallies:
        _suite(root, tally, by_subject.pop(tally.subject, []), folder)
    for subject, breaches in by_subject.items():
        _close(_open(root, subject), [_case_of(breach) for breach in breaches])
    for attribute in ("tests", "failures", "errors"):
        root.set(attribute, str(sum(int(suite.get(attribute, "0")) for suite in root)))
    ET.indent(root)
    text: str = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def _suite(root: ET.Element, tally: Tally, breaches: list[Breach], folder: str) -> None:
    cases = [_case(line, [one for one in breaches if line["id"] in one.trials], tally, folder) for line in tally.lines]
    _close(_open(root, tally.subject), cases + [_case_of(breach) for breach in breaches if not breach.trials])


def _open(root: ET.Element, subject: str) -> ET.Element:
    return ET.SubElement(root, "testsuite", name=_clean(subject))


def _close(suite: ET.Element, cases: list[ET.Element]) -> None:
    suite.extend(cases)
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("errors", str(sum(case.find("error") is not None for case in cases)))
    suite.set("time", f"{sum(float(case.get('time', '0')) for case in cases):.3f}")


def _case(line: Line, breaches: list[Breach], tally: Tally, folder: str) -> ET.Element:
    seconds = line["time"]["wall_s"] if line["time"] else 0.0
    case = ET.Element(
        "testcase",
        classname=_class(tally.subject),
        name=_clean(line["schedule"]["name"]),
        time=f"{seconds:.3f}",
    )
    for breach in breaches:
        _add(case, breach, f"{breach.message}\n{_proof(line, folder)}")
    if not breaches and line["outcome"] != "PASS":
        why = 'as expected: its manifest says expect = "FAIL"' if tally.expect == "FAIL" else "within the budget"
        ET.SubElement(case, "system-out").text = _clean(f"{line['outcome']}, {why}\n{_proof(line, folder)}")
    return case


def _case_of(breach: Breach) -> ET.Element:
    case = ET.Element("testcase", classname=_class(breach.subject), name=_clean(f"budget: {breach.what}"), time="0")
    _add(case, breach, breach.message + (f"\nreproduce: {breach.reproduce}" if breach.reproduce else ""))
    return case


def _add(case: ET.Element, breach: Breach, text: str) -> None:
    tag = "failure" if breach.outcome == "FAIL" else "error"
    found = ET.SubElement(case, tag, type=_clean(breach.what), message=_clean(f"{breach.what}: {breach.message}"))
    found.text = _clean(text)


def _proof(line: Line, folder: str) -> str:
    evidence = f"evidence: {folder}/{line['evidence']}/\n" if line["evidence"] else ""
    return f"faults: {', '.join(line['schedule']['faults']) or 'none'}\n{evidence}reproduce: {line['reproduce']}"


def _class(subject: str) -> str:
    # Servers split class names at dots into packages.
    return _clean(f"killtest.{subject.replace('.', '_')}")


def _clean(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
