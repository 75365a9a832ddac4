# SPDX-License-Identifier: Apache-2.0
"""A SYCL program on a Level Zero device that reports to be a GPU: python sycl_worker.py
KERNELS.spv.

It is a process of its own, because SYCL's runtime reads the environment when it is loaded, and
looks for devices only once.
"""

import ctypes
import json
import sys
from pathlib import Path

import dpctl
import dpctl.memory
import dpctl.program
import numpy as np

COUNT, CHAIN = 4096, 200
QUEUES = [["in_order"], [], ["in_order", "enable_profiling"]]


def ints(memory: dpctl.memory._memory._Memory) -> np.ndarray:
    return np.frombuffer(memory, dtype=np.int32)


def copies(queue: dpctl.SyclQueue, x: np.ndarray) -> None:
    """Copy from host to device, to shared memory, to device and to host, each through the queue."""
    on_device = dpctl.memory.MemoryUSMDevice(x.nbytes, queue=queue)
    shared = dpctl.memory.MemoryUSMShared(x.nbytes, queue=queue)
    back = np.zeros(x.nbytes, np.uint8)
    on_device.copy_from_host(x.view(np.uint8))
    shared.copy_from_device(on_device)
    np.testing.assert_array_equal(ints(shared), x)
    ints(shared)[:] += 1
    queue.memcpy_async(on_device, shared, x.nbytes).wait()
    on_device.copy_to_host(back)
    np.testing.assert_array_equal(back.view(np.int32), x + 1)
    kinds = [on_device.get_usm_type(), shared.get_usm_type()]
    assert kinds == ["device", "shared"], kinds


def kernels(queue: dpctl.SyclQueue, x: np.ndarray, spirv: bytes) -> None:
    """A chain of launches that depend on each other, and a launch with all kinds of arguments."""
    program = dpctl.program.create_program_from_spirv(queue, spirv)
    add_one, scale = program.get_sycl_kernel("add_one"), program.get_sycl_kernel("scale")
    shared = dpctl.memory.MemoryUSMShared(x.nbytes, queue=queue)
    host = dpctl.memory.MemoryUSMHost(x.nbytes, queue=queue)
    shared.copy_from_host(x.view(np.uint8))
    events: list[dpctl.SyclEvent] = []
    for _ in range(CHAIN):
        events.append(queue.submit(add_one, [shared], [COUNT], dEvents=events[-1:]))
    event = queue.submit(scale, [shared, host, ctypes.c_int(-7)], [COUNT], [64], dEvents=events[-1:])
    event.wait()
    np.testing.assert_array_equal(ints(shared), x + CHAIN)
    np.testing.assert_array_equal(ints(host), (x + CHAIN) * -7)
    if queue.has_enable_profiling:
        assert event.profiling_info_submit <= event.profiling_info_start < event.profiling_info_end


def main() -> None:
    spirv = Path(sys.argv[1]).read_bytes()
    device = dpctl.SyclDevice("level_zero:gpu")
    assert device.has_aspect_usm_device_allocations
    assert device.has_aspect_usm_shared_allocations
    x = np.arange(COUNT, dtype=np.int32)
    for properties in QUEUES:
        queue = dpctl.SyclQueue(device, property=properties)
        copies(queue, x)
        kernels(queue, x, spirv)
    print(json.dumps({"devices": dpctl.get_num_devices(), "platform": device.sycl_platform.name}))


if __name__ == "__main__":
    main()
