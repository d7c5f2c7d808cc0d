// SPDX-License-Identifier: BSD-2-Clause
//
// The order of records within an instant, and the file behind the buffer.

#include "hosts/sim/recorder.h"

#include <cerrno>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>

namespace hyperperiod::sim {

namespace {

[[noreturn]] void fail(const std::string &what) {
    throw std::system_error(errno, std::generic_category(), what);
}

} // namespace

Recorder::Recorder(const std::string &path) : Recorder(open(path.c_str(), O_WRONLY | O_APPEND)) {
    if (file_ < 0)
        fail(path);
}

Recorder::Recorder(int file) : file_(file) {
    records_.reserve(FLUSH_AT + FLUSH_AT / 4);
}

Recorder::~Recorder() {
    if (file_ >= 0)
        close(file_);
}

void Recorder::insert(Ns now_ns, const Entry &entry) {
    const u8 step = kind_rows[static_cast<u8>(entry.event)].step;
    std::size_t at = records_.size();

    while (at > instant_ && records_[at - 1].row().step > step)
        at--;
    records_.insert(records_.begin() + static_cast<std::ptrdiff_t>(at),
                    Record{{.time = now_ns,
                            .value = entry.value,
                            .job = static_cast<u32>(entry.job),
                            .pcpu = static_cast<u16>(entry.pcpu),
                            .vcpu = static_cast<u16>(entry.vcpu),
                            .payer = static_cast<u16>(entry.payer),
                            .task = static_cast<u16>(entry.task),
                            .kind = static_cast<u8>(entry.event),
                            .flags = entry.flags,
                            .reserved = 0}});
}

void Recorder::flush() {
    const char *from = reinterpret_cast<const char *>(records_.data());
    std::size_t left = records_.size() * sizeof(Record);

    while (left > 0) {
        const ssize_t written = write(file_, from, left);

        if (written < 0 && errno != EINTR)
            fail("writing the trace");
        if (written > 0) {
            from += written;
            left -= static_cast<std::size_t>(written);
        }
    }
    records_.clear();
    instant_ = 0;
}

} // namespace hyperperiod::sim
