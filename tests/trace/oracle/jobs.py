# SPDX-License-Identifier: BSD-2-Clause
"""A job runs between its release and its completion, after the jobs of its task before it.

Its response time is what its records say, and it is reported as missed exactly if it finished
after its deadline, or had not finished when the run ended with its deadline already over.
"""

from dataclasses import dataclass, field

from tests.trace.oracle.finding import PropertyVerdict
from tests.trace.oracle.replay import by_instant

from hyperperiod.trace.format import NONE, Header, Kind, Records, task_name
from hyperperiod.trace.records import Record


@dataclass
class _Job:
    number: int
    release_ns: int
    deadline_ns: int
    ran: bool = False
    missed: bool = False


@dataclass
class _Task:
    """What is known about one task: its unfinished jobs, oldest first."""

    waiting: list[_Job] = field(default_factory=list)
    released: int | None = None

    def job(self, number: int) -> _Job | None:
        return next((job for job in self.waiting if job.number == number), None)


class _Check:
    def __init__(self, header: Header) -> None:
        self.header = header
        self.finding = PropertyVerdict()
        self.tasks = [_Task() for _ in header["tasks"]]
        self.now_ns = 0

    def see(self, record: Record) -> None:
        if record.kind == Kind.RELEASE:
            self._release(record)
        elif record.kind == Kind.RUN and record.task != NONE:
            self._run(record)
        elif record.kind == Kind.MISS:
            self._miss(record)
        elif record.kind == Kind.COMPLETE:
            self._complete(record)

    def end(self, end_ns: int) -> None:
        """Every overdue job that is still there must have been reported."""
        for index, task in enumerate(self.tasks):
            for job in task.waiting:
                if 0 < job.deadline_ns <= end_ns and not job.missed:
                    self._wrong(index, job.number, "is overdue at the end but not reported")

    def _release(self, record: Record) -> None:
        task = self.tasks[record.task]
        if task.released is not None and record.job != task.released + 1:
            self._wrong(record.task, record.job, f"is released after job {task.released}")
        task.released = record.job
        task.waiting.append(_Job(record.job, record.time_ns, record.value))

    def _run(self, record: Record) -> None:
        task = self.tasks[record.task]
        job = task.job(record.job)
        if job is None:
            if self.header["tasks"][record.task]["kind"] != "busy":
                self._wrong(record.task, record.job, "runs but is not released or is finished")
            return
        job.ran = True
        if job is not task.waiting[0]:
            self._wrong(record.task, record.job, f"runs before job {task.waiting[0].number}")

    def _miss(self, record: Record) -> None:
        job = self.tasks[record.task].job(record.job)
        if job is None:
            self._wrong(record.task, record.job, "is reported as missed but is not waiting")
            return
        job.missed = True
        if record.value != job.deadline_ns:
            self._wrong(record.task, record.job, f"had the deadline {job.deadline_ns}")
        if job.deadline_ns == 0 or record.time_ns < job.deadline_ns:
            self._wrong(record.task, record.job, "is reported as missed before its deadline")

    def _complete(self, record: Record) -> None:
        task = self.tasks[record.task]
        job = task.job(record.job)
        if job is None:
            self._wrong(record.task, record.job, "completes but is not released or is finished")
            return
        if job is not task.waiting[0]:
            self._wrong(record.task, record.job, f"completes before job {task.waiting[0].number}")
        if not job.ran:
            self._wrong(record.task, record.job, "completes without having run")
        response_ns = record.time_ns - job.release_ns
        if record.value != response_ns:
            text = f"responds in {response_ns} ns but is reported with {record.value}"
            self._wrong(record.task, record.job, text)
        late = job.deadline_ns > 0 and record.time_ns > job.deadline_ns
        if late != job.missed:
            self._wrong(record.task, record.job, f"late: {late}, reported as missed: {job.missed}")
        task.waiting.remove(job)

    def _wrong(self, task: int, job: int, text: str) -> None:
        self.finding.add(self.now_ns, f"{task_name(self.header, task)} job {job} {text}")


def check(header: Header, records: Records) -> PropertyVerdict:
    """Follow every job through its records."""
    checker = _Check(header)
    for time_ns, together in by_instant(records):
        checker.now_ns = time_ns
        for record in together:
            checker.see(record)
    checker.end(checker.now_ns)
    return checker.finding
