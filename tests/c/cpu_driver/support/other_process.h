// SPDX-License-Identifier: Apache-2.0
// Starts the test once more as another process, which does what it is asked over a socket.
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ze_test.h"

/// A request to the other process ('x': end), with the handles for it. A file descriptor may go with it.
struct Message {
    char kind;
    ze_ipc_mem_handle_t memory;
    ze_ipc_event_pool_handle_t events;
};

inline void send(int socket, const Message &message, int descriptor = -1) {
    iovec part{const_cast<Message *>(&message), sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (descriptor >= 0) {
        header.msg_control = control;
        header.msg_controllen = sizeof control;
        cmsghdr *first = CMSG_FIRSTHDR(&header);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(sizeof descriptor);
        std::memcpy(CMSG_DATA(first), &descriptor, sizeof descriptor);
    }
    CHECK(sendmsg(socket, &header, 0) == ssize_t(sizeof message));
}

inline Message receive(int socket, int &descriptor) {
    Message message{};
    descriptor = -1;
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    CHECK(recvmsg(socket, &header, 0) == ssize_t(sizeof message));
    if (cmsghdr *first = CMSG_FIRSTHDR(&header))
        std::memcpy(&descriptor, CMSG_DATA(first), sizeof descriptor);
    return message;
}

/// The other process, as seen from this one. Its main() gets the socket as second argument.
struct Other {
    int socket = -1;
    pid_t process = -1;

    explicit Other(char **argv) {
        int pair[2];
        CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
        process = fork();
        if (process == 0) {
            close(pair[0]);
            const std::string end = std::to_string(pair[1]);
            execl("/proc/self/exe", argv[0], argv[1], end.c_str(), nullptr);
            _exit(3);
        }
        close(pair[1]);
        socket = pair[0];
    }
    void tell(const Message &message, int descriptor = -1) { send(socket, message, descriptor); }
    void hear() {
        char answer = 0;
        CHECK(read(socket, &answer, 1) == 1 && answer == 'k');
    }
    void ask(const Message &message, int descriptor = -1) {
        tell(message, descriptor);
        hear();
    }
    ~Other() {
        send(socket, {'x', {}, {}});
        CHECK(wait_for(process) == 0);
        close(socket);
    }
};

/// The other process: calls serve() for each request, until it is asked to end. A received descriptor comes
/// into the place of the sender's in this handle, as programs for Intel's GPU driver do it.
template <class Handle, class Serve> void serve_all(int socket, Handle Message::*handle, Serve serve) {
    for (;;) {
        int descriptor = -1;
        Message message = receive(socket, descriptor);
        if (message.kind == 'x')
            return;
        if (descriptor >= 0)
            std::memcpy((message.*handle).data, &descriptor, sizeof descriptor);
        serve(message);
        if (descriptor >= 0)
            close(descriptor);
        CHECK(write(socket, "k", 1) == 1);
    }
}

/// The main() of such a test.
inline int main_of_both(
    int argc, char **argv, void (*serve)(int), void (*test)(Other &), void (*alone)() = [] {}) {
    open_driver(argc, argv);
    if (argc > 2) {
        serve(std::atoi(argv[2]));
    } else {
        Other other(argv);
        test(other);
        alone();
    }
    OK(ze.zeContextDestroy(context));
    return 0;
}
