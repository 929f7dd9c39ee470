"""What the answer to a robots.txt request permits (RFC 9309 2.3.1)."""

from enum import StrEnum

from nephila.profiles import RobotsOnError

ROBOTS_HOPS_MAX = 5  # redirects that are followed for a robots.txt, also to other hosts

_TOO_MANY_REQUESTS = 429


class RobotsAccess(StrEnum):
    RULES = "rules"  # obey what the body says
    ALLOW_ALL = "allow_all"  # there is no robots.txt
    HOLD = "hold"  # not known: no request but another try; a copy from before stays in force
    PENDING = "pending"  # redirected to another host, whose owner will answer


def access_for(access: str, status: int | None, on_error: RobotsOnError) -> str:
    """What a crawl with this policy takes from an answer that is stored with its access by RFC 9309 and its status."""
    if access == RobotsAccess.PENDING or (access == RobotsAccess.HOLD and on_error is RobotsOnError.RFC9309):
        return access
    return access_of(status, on_error)


def access_of(status: int | None, on_error: RobotsOnError) -> RobotsAccess:
    """What the status of the last answer permits; None: no whole answer (DNS, connection, TLS, time-out, torn body).

    A 3xx means that the redirects did not end within ROBOTS_HOPS_MAX. 429 holds, as with Google and Nutch: the host
    asks for rest.
    """
    if on_error is RobotsOnError.ALLOW:
        return RobotsAccess.RULES if status == 200 else RobotsAccess.ALLOW_ALL
    if status is None or status == _TOO_MANY_REQUESTS or not 200 <= status < 500:
        return RobotsAccess.HOLD
    return RobotsAccess.RULES if status < 300 else RobotsAccess.ALLOW_ALL
