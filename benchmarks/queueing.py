"""A queue of workers in front of one driver: the least and the most that it can answer.

Each worker computes a chunk of designs, then the driver takes its answer, stores it, proposes and
sends the next one. That is a closed queue with one server: ``workers`` customers, who think for
``chunk * evaluation_s`` and are served for ``chunk * driver_s``.
"""


def most_rate(workers: int, evaluation_s: float, driver_s: float) -> float:
    """Designs per second if nobody ever waited: all workers busy, or the driver.

    Source: the asymptotic bound of closed networks, P. J. Denning, J. P. Buzen, "The Operational
    Analysis of Queueing Network Models", ACM Computing Surveys 10(3), 1978.
    """
    return min(workers / evaluation_s, 1.0 / driver_s)


def least_rate(workers: int, evaluation_s: float, driver_s: float, chunk: int) -> float:
    """Designs per second if workers had no second chunk to go on with, and times were random.

    Source: mean value analysis, M. Reiser, S. S. Lavenberg, "Mean-Value Analysis of Closed
    Multichain Queuing Networks", Journal of the ACM 27(2), 1980: one server and a delay.
    """
    queue, rate = 0.0, 0.0
    for customers in range(1, workers + 1):
        response_s = chunk * driver_s * (1.0 + queue)
        rate = customers / (chunk * evaluation_s + response_s)
        queue = rate * response_s
    return rate * chunk


def fed_workers(evaluation_s: float, driver_s: float, share: float = 0.9) -> int:
    """How many workers one driver keeps busy for at least *share* of their time, at most."""
    return int(evaluation_s / driver_s / share)
