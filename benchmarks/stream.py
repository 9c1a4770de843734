"""How many bytes a node sends a tick: `python benchmarks/stream.py [SECONDS]`.

The samples of the mock dgx-h100 with a job that never rests (+busy), eight GPUs, at one tick a second, as the agent
packs them and frames them, deflated; ssh adds about 60 bytes, TCP and IP 52 for each 1448.
"""

import sys
import time
from statistics import median

from brctl.mock.machines import load
from brctl.node.frame import Frame, pack
from brctl.node.monitor.sampler import Sampler
from brctl.node.monitor.stream import Packer

NODES, LINK_BITS = 1024, 10e9
OVERHEAD = 60 + 52


def main() -> None:
    sampler = Sampler(load("dgx-h100+busy"))
    packer = Packer(sampler.series)
    sizes = []
    count = 0
    for second in range(int(sys.argv[1]) if len(sys.argv) > 1 else 30):
        tick = sampler.tick(first=second == 0)
        sizes.append(len(pack(Frame("1", packer.pack(*tick)))))
        count = sum(len(block.slots) for block in tick.blocks)
        time.sleep(1)
    usual, most = median(sizes[2:]), max(sizes[2:])
    print(f"{count} samples; first tick {sizes[0]} bytes, second {sizes[1]}; then median {usual:.0f}, most {most}")
    bits = (usual * (1 + 52 / 1448) + OVERHEAD) * 8 * NODES
    print(f"{NODES} nodes, a tick a second: {bits / 1e6:.1f} Mb/s, {bits / LINK_BITS:.2%} of 10 Gb/s")


if __name__ == "__main__":
    main()
