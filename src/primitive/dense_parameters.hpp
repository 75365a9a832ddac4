// SPDX-License-Identifier: Apache-2.0
// Kernels read scales, zero points and reductions as dense tensors, and write those that are results so. A
// memory with the dimensions of such a parameter may have other strides: a launch then copies it.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <span>

#include "primitive/sequence.hpp"

namespace zemm {

// A launch that copies a plain tensor to one of the same type and dimensions. Throws unimplemented if no
// kernel does. The folder src/reorder, which has the kernels, defines it.
launch copy_launch(const memory_desc &from, const memory_desc &to, const operand &source,
                   const operand &destination, const ze::device &dev);

// The copies of one execution.
class dense_parameters {
public:
    // Prepares them, and submits nothing. Replaces the memories by dense ones. nullptr if there is nothing to
    // copy. memories: what bind() returns for the descriptor's arguments.
    static std::shared_ptr<const dense_parameters> make(const zemm_primitive_desc &pd,
                                                        std::map<int, zemm_memory_t> &memories);

    // Submits the copies to the dense memories, the first one after the events in waits.
    void submit(ze::stream &stream, std::span<const ze_event_handle_t> waits) const;
    // Submits the copies of results back. The launches that write them have been submitted.
    void submit_results(ze::stream &stream) const;

private:
    void add(int arg, const argument &expected, zemm_memory &memory, sequence &before, sequence &after);
    void run(ze::stream &stream, const std::shared_ptr<const compiled_sequence> &copies,
             std::span<const ze_event_handle_t> waits) const;

    const argument_map *arguments_;
    std::map<int, zemm_memory_t> callers_; // the memories that are copied
    std::list<zemm_memory> dense_;
    std::shared_ptr<ze::buffer> buffer_; // holds the dense ones
    std::shared_ptr<const compiled_sequence> before_, after_;
};

} // namespace zemm
