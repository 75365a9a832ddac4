// SPDX-License-Identifier: Apache-2.0
//
// The handles of command queues and command lists, and what all appends have in common.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <level_zero/ze_api.h>

#include "stream/command.h"
#include "stream/submission.h"

struct _ze_command_queue_handle_t {
    ze_context_handle_t context;
    ze_command_queue_desc_t desc;
    ze_cpu::OwnedSubmission submission;
};

struct _ze_command_list_handle_t {
    ze_context_handle_t context = nullptr;
    // Regular lists only: the appended commands.
    ze_command_list_flags_t flags = 0;
    bool closed = false;
    std::vector<ze_cpu::CommandPtr> commands;
    // Immediate lists only: the stream that runs the commands, and the descriptor of the list's
    // queue.
    ze_cpu::OwnedSubmission submission;
    ze_command_queue_desc_t queue{};
    std::optional<ze_cpu::Threadpool> pool; // that computes; else the driver's threads
};

namespace ze_cpu {

/// Checks the arguments that all appends have: the list, which must be open, and the wait events.
/// Throws ze_result_t.
void check_append(ze_command_list_handle_t list, uint32_t wait_count, ze_event_handle_t *waits);

/// Submits to an immediate list, and waits if the list is synchronous.
ze_result_t submit_at_once(_ze_command_list_handle_t &list, std::span<const CommandPtr> commands);

/// Adds the commands of the lists to `to`, for one execution. Counter-based events that they signal
/// start anew.
void collect(const ze_command_list_handle_t *lists, uint32_t count, std::vector<CommandPtr> &to);

/// Attaches the events to the command. Then records it (regular list) or submits it (immediate
/// list).
ze_result_t append(ze_command_list_handle_t list, CommandPtr command, ze_event_handle_t signal,
                   uint32_t wait_count, ze_event_handle_t *waits);

/// Appends a function that is called when its turn comes.
template <class Function>
ze_result_t append_function(ze_command_list_handle_t list, Function function, ze_event_handle_t signal,
                            uint32_t wait_count, ze_event_handle_t *waits) {
    return append(list, std::make_shared<FunctionCommand>(std::move(function)), signal, wait_count, waits);
}

} // namespace ze_cpu
