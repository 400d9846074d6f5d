"""The table of methods: whole, without doubles, and every step it asks for is itself in it."""

from __future__ import annotations

from importlib.resources import files

import pytest

from engine.retrieval.question.methods import Operation, elsewhere, load_methods, methods_of


def raw_text() -> str:
    return files("engine.retrieval").joinpath("data", "methods.tsv").read_text(encoding="utf-8")


def test_it_covers_the_field() -> None:
    assert len(load_methods()) >= 250
    assert load_methods() is load_methods()


def test_the_file_is_a_clean_table() -> None:
    text = raw_text()
    assert text.endswith("\n")
    assert "\r" not in text
    assert text.isascii()
    lines = text.splitlines()
    assert {line.count("\t") for line in lines} == {6}
    for line in lines:
        for field in line.split("\t"):
            assert field == field.strip(), line
            for item in field.split("|"):
                assert item == item.strip(), line
                assert item or not field, f"an empty item in {line!r}"


def test_operations_are_unique_and_described() -> None:
    operations = [method.operation.lower() for method in load_methods()]
    assert len(operations) == len(set(operations))
    for method in load_methods():
        assert method.operation, method
        assert method.synonyms, method.operation
        assert method.inputs, method.operation
        assert method.outputs, method.operation


def test_lists_hold_nothing_twice() -> None:
    for method in load_methods():
        for items in (
            method.synonyms,
            method.programs,
            method.inputs,
            method.outputs,
            method.prerequisites,
            method.phrases,
        ):
            lower = [item.lower() for item in items]
            assert len(lower) == len(set(lower)), (method.operation, items)
        assert method.operation.lower() not in {name.lower() for name in method.synonyms}


def test_an_everyday_phrase_stands_once_and_not_among_what_no_tool_does() -> None:
    phrases = [phrase for method in load_methods() for phrase in method.phrases]
    everything = [*phrases, *elsewhere()]
    assert len(phrases) > 900
    assert sorted(everything) == sorted(set(everything))


def test_no_synonym_is_another_operations_name() -> None:
    operations = {method.operation.lower() for method in load_methods()}
    taken = [
        (method.operation, name) for method in load_methods() for name in method.synonyms if name.lower() in operations
    ]
    assert taken == []


def test_programs_are_lower_case() -> None:
    for method in load_methods():
        assert all(program == program.lower() for program in method.programs), method.operation


def test_prerequisites_exist_and_never_run_in_a_circle() -> None:
    known = {method.operation: method for method in load_methods()}
    done: set[str] = set()

    def visit(operation: str, path: tuple[str, ...]) -> None:
        assert operation in known, f"{path[-1] if path else ''} needs {operation!r}, which the table does not have"
        assert operation not in path, f"a circle: {(*path, operation)}"
        if operation in done:
            return
        for before in known[operation].prerequisites:
            visit(before, (*path, operation))
        done.add(operation)

    for operation in known:
        visit(operation, ())


def test_what_an_analyst_expects_comes_first() -> None:
    methods = {method.operation: method for method in load_methods()}

    def before(operation: str) -> set[str]:
        return set(methods[operation].prerequisites)

    assert {"doublet removal", "single-cell batch correction", "single-cell normalisation"} <= before(
        "single-cell clustering"
    )
    assert "duplicate marking" in before("germline variant calling")
    assert "genotype quality control" in before("genome-wide association study")
    assert "structure preparation" in before("molecular docking")


def test_a_damaged_table_says_where() -> None:
    header = "\t".join(("operation", "synonyms", "programs", "inputs", "outputs", "prerequisites", "phrases"))
    assert methods_of(f"{header}\nmapping\ta|b\t\treads\tbam\t\twhere do reads belong\n") == [
        Operation(
            operation="mapping",
            synonyms=("a", "b"),
            programs=(),
            inputs=("reads",),
            outputs=("bam",),
            prerequisites=(),
            phrases=("where do reads belong",),
        )
    ]
    with pytest.raises(ValueError, match="line 2 has 3 fields; expected 7"):
        methods_of(f"{header}\nmapping\tonly three\tfields\n")
    with pytest.raises(ValueError, match="expected operation, synonyms"):
        methods_of("name\twhat\n")
