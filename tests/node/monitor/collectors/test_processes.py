from typing import Any, Dict

import pytest

from brctl.node.monitor.collectors.processes import COLLECTOR

CONTAINER = "0123456789ab" + "cdef" * 13
FILES: Dict[str, Any] = {
    "/etc/passwd": "root:x:0:0::/root:/bin/sh\nalice:x:1001:1001::/home/alice:/bin/bash\n",
    "/proc/4242/status": "Name:\tpython\nUid:\t1001\t1001\t1001\t1001\n",
    "/proc/4242/comm": "python\n",
    "/proc/4242/cgroup": "0::/system.slice/slurmstepd.scope/job_778/step_0/user/task_0\n",
    "/proc/4242/environ": "HOME=/x\0",
}


def process(pid: int = 4242, memory: Any = 1 << 30, **more: Any) -> Dict[str, Any]:
    return {"pid": pid, "kind": "compute", "memory_bytes": memory, **more}


def of(look: Any, watched: Any, files: Any, *processes: Any) -> Dict[Any, Any]:
    seen = look(COLLECTOR).of(1.0, watched(files, processes=list(processes)))
    assert seen.pop(("gpu_processes", ())) == len(processes)
    return {labels: value for (_, labels), value in seen.items()}


def test_whose_it_is(look: Any, watched: Any) -> None:
    labels = ("4242", "python", "alice", "", "778", "compute", "")
    assert of(look, watched, FILES, process()) == {labels: 1 << 30}


@pytest.mark.parametrize(
    ("cgroup", "environ", "container", "job"),
    [
        (f"0::/docker/{CONTAINER}\n", "", "0123456789ab", ""),
        (f"12:devices:/kubepods/pod1/{CONTAINER}\n0::/\n", "A=1\0SLURM_JOB_ID=91\0", "0123456789ab", "91"),
        ("11:cpuset:/slurm/uid_1001/job_5/step_0\n", "SLURM_JOB_ID=6\0", "", "5"),
        ("0::/user.slice\n", "XSLURM_JOB_ID=6\0", "", ""),
    ],
    ids=["docker", "kubernetes", "cgroup-v1", "neither"],
)
def test_its_container_and_job(look: Any, watched: Any, cgroup: str, environ: str, container: str, job: str) -> None:
    files = dict(FILES, **{"/proc/4242/cgroup": cgroup, "/proc/4242/environ": environ})
    ((_, _, _, *found),) = [labels[:5] for labels in of(look, watched, files, process())]
    assert found == [container, job]


def test_one_that_is_not_to_be_seen_keeps_its_memory(look: Any, watched: Any) -> None:
    assert of(look, watched, {}, process(99, 77)) == {("99", "?", "?", "", "", "compute", ""): 77}


def test_what_another_user_may_not_read(look: Any, watched: Any) -> None:
    refused = {f"/proc/4242/{name}": {"errno": "EACCES"} for name in ("environ", "cgroup", "comm")}
    assert of(look, watched, {**FILES, **refused}, process()) == {
        ("4242", "?", "alice", "", "", "compute", ""): 1 << 30
    }


def test_a_user_without_a_name_is_a_number(look: Any, watched: Any) -> None:
    files = {**FILES, "/etc/passwd": "root:x:0:0::/root:/bin/sh\n"}
    assert [labels[2] for labels in of(look, watched, files, process())] == ["1001"]


def test_a_memory_that_the_driver_does_not_know_is_absent(look: Any, watched: Any) -> None:
    assert list(of(look, watched, FILES, process(memory=None)).values()) == [None]


def test_one_id_of_an_instance_without_the_other_is_none(look: Any, watched: Any) -> None:
    both, one = process(gpu_instance_id=2, compute_instance_id=0), process(5, gpu_instance_id=3)
    assert {labels[0]: labels[-1] for labels in of(look, watched, FILES, both, one)} == {"4242": "2", "5": ""}
