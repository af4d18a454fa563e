"""The machine that the figures are of, and how much of it others used meanwhile."""

import os
import platform
import resource
import subprocess


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def redis_version():
    return subprocess.run(
        ["redis-server", "--version"], check=True, capture_output=True, text=True
    ).stdout.split()[2].removeprefix("v=")


def describe():
    """No host name: it says nothing about speed."""
    return (f"{cpu_model()}, {os.cpu_count()} cores, Linux {platform.release()}, "
            f"redis-server {redis_version()}")


class OthersShare:
    """Of the machine's time since the start, the share that neither this program nor its ended
    children used, steal included. Ask when all servers are stopped: running ones count too."""

    def __init__(self):
        self.total, self.idle = self._ticks()
        self.own = self._own_seconds()

    @staticmethod
    def _ticks():
        with open("/proc/stat", encoding="ascii") as stat:
            fields = [int(field) for field in stat.readline().split()[1:9]]
        return sum(fields), fields[3] + fields[4]  # idle and waiting for disks

    @staticmethod
    def _own_seconds():
        usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return sum(usage.ru_utime + usage.ru_stime for usage in usages)

    def share(self):
        total, idle = self._ticks()
        own = (self._own_seconds() - self.own) * os.sysconf("SC_CLK_TCK")
        busy = (total - self.total) - (idle - self.idle)
        return max(0.0, (busy - own) / max(1, total - self.total))
