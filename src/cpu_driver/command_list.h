// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include <level_zero/ze_api.h>

#include "command.h"
#include "submission.h"

struct _ze_command_queue_handle_t {
    ze_context_handle_t context;
    ze_command_queue_desc_t desc;
    ze_cpu::OwnedSubmission submission;
};

struct _ze_command_list_handle_t {
    ze_context_handle_t context = nullptr;
    // Regular lists: what was appended.
    ze_command_list_flags_t flags = 0;
    bool closed = false;
    std::vector<ze_cpu::CommandPtr> commands;
    // Immediate lists: where it goes at once.
    ze_cpu::OwnedSubmission submission;
    ze_command_queue_desc_t queue{};
};

namespace ze_cpu {

/// Checks what all appends have in common: the list, that it is open, and the wait events.
ze_result_t check_append(ze_command_list_handle_t list, uint32_t wait_count, ze_event_handle_t *waits);

/// Submits to an immediate list, and waits if the list is synchronous.
ze_result_t submit_at_once(_ze_command_list_handle_t &list, std::span<const CommandPtr> commands);

/// Appends what the lists hold, for an execution.
void collect(const ze_command_list_handle_t *lists, uint32_t count, std::vector<CommandPtr> &to);

/// Gives the command its events and records or submits it.
ze_result_t append(ze_command_list_handle_t list, CommandPtr command, ze_event_handle_t signal,
                   uint32_t wait_count, ze_event_handle_t *waits);

/// Appends a function to be called in its turn.
template <class Function>
ze_result_t append_function(ze_command_list_handle_t list, Function function, ze_event_handle_t signal,
                            uint32_t wait_count, ze_event_handle_t *waits) {
    return append(list, std::make_shared<FunctionCommand>(std::move(function)), signal, wait_count, waits);
}

} // namespace ze_cpu
