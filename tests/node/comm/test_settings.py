"""Text in the forms in which environments are found."""

from typing import List, Tuple

import pytest

from brctl.node.comm.settings import Setting, is_conf, of_conf, of_process, of_shell


def pairs(found: Tuple[Setting, ...]) -> List[Tuple[str, str]]:
    return [(setting.name, setting.value) for setting in found]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("export NCCL_A=1 # why", [("NCCL_A", "1")]),
        ("#export NCCL_A=1", []),
        ('NCCL_A="a b" NCCL_B=2 python train.py', [("NCCL_A", "a b"), ("NCCL_B", "2")]),
        ("setenv NCCL_A 5", [("NCCL_A", "5")]),
        ('Environment="NCCL_A=1" "NCCL_B=2"', [("NCCL_A", "1"), ("NCCL_B", "2")]),
        ("srun --export=ALL,NCCL_A=1,NCCL_B=2 x", [("NCCL_A", "1"), ("NCCL_B", "2")]),
        ("mpirun -x NCCL_A=7 x", [("NCCL_A", "7")]),
        ('declare -x NCCL_A="1"', [("NCCL_A", "1")]),
        ('  - name: NCCL_A\n    value: "1G"', [("NCCL_A", "1G")]),
        ("- {name: NCCL_A, value: '2'}", [("NCCL_A", "2")]),
        ('data:\n  NCCL_A: "3"', [("NCCL_A", "3")]),
        ("  - name: NCCL_A\n    valueFrom: {}", []),
        ("NCCL_A='open", [("NCCL_A", "'open")]),
        ("--nccl=1 1X=2 echo", []),
        ("export NCCL_A=0;export NCCL_B=100", [("NCCL_A", "0"), ("NCCL_B", "100")]),
        ("(NCCL_A=1 ./x && NCCL_B=2 ./y)", [("NCCL_A", "1"), ("NCCL_B", "2")]),
        ("docker run -e NCCL_A=1 --env=NCCL_B=2 image", [("NCCL_A", "1"), ("NCCL_B", "2")]),
        ("echo 'export NCCL_A==mlx5_0'", [("NCCL_A", "=mlx5_0")]),
        ("#SBATCH --export=ALL,NCCL_A=1", [("NCCL_A", "1")]),
        ('export NCCL_A="a,b" \\\n  NCCL_B=1 \\\n', [("NCCL_A", "a,b"), ("NCCL_B", "1")]),
        ("# a comment \\\nNCCL_A=1", [("NCCL_A", "1")]),
        ("export NCCL_A=1 NCCL_B=2\nunset NCCL_A", [("NCCL_B", "2")]),
        ("unset NCCL_A\nexport NCCL_A=1", [("NCCL_A", "1")]),
        ("export NCCL_A=1\nif x; then\n  unset NCCL_A\nfi", [("NCCL_A", "1")]),
    ],
)
def test_of_shell(text: str, found: List[Tuple[str, str]]) -> None:
    assert pairs(of_shell(text)) == found


@pytest.mark.parametrize(
    "text",
    [
        "NCCL_A=$(ip route | awk '{print $5}')",
        "NCCL_A=$((4 * 1024))",
        "NCCL_A=${A:-3}",
        "NCCL_A=`hostname`",
        "- name: NCCL_A\n  value: $(GID)",
    ],
)
def test_what_a_shell_computes_is_not_known(text: str) -> None:
    (found,) = of_shell(text)
    assert (found.name, found.computed) == ("NCCL_A", True)


def test_lines_are_counted_from_one() -> None:
    assert [setting.line for setting in of_shell("\nexport A=1\n- name: B\n  value: 2\n")] == [2, 4]


def test_of_conf_is_letter_by_letter() -> None:
    found = of_conf('NCCL_A= 1\n#NCCL_B=2\nNCCL_C\n NCCL_D="3"\r\n')
    assert pairs(found) == [("NCCL_A", " 1"), (" NCCL_D", '"3"\r')]
    assert found[1].line == 4


def test_of_process() -> None:
    assert pairs(of_process("NCCL_A=1\nNCCL_B=x=y")) == [("NCCL_A", "1"), ("NCCL_B", "x=y")]


@pytest.mark.parametrize(
    ("name", "conf"), [("/etc/nccl.conf", True), (".nccl.conf", True), ("job.sh", False), ("-", False)]
)
def test_is_conf(name: str, conf: bool) -> None:
    assert is_conf(name) is conf


def test_lines_of_a_script_are_counted_by_their_newlines() -> None:
    found = of_shell("# one\x0c\u2028page\r\nexport NCCL_A=1 \\\r\n  NCCL_B=2\r\nexport NCCL_C=3\r\n")
    assert [(one.name, one.value, one.line) for one in found] == [
        ("NCCL_A", "1", 2),
        ("NCCL_B", "2", 2),
        ("NCCL_C", "3", 4),
    ]


def test_a_value_of_a_process_is_not_cut() -> None:
    assert pairs(of_process("NCCL_A=one\u2028two")) == [("NCCL_A", "one\u2028two")]
    assert of_process("") == ()
