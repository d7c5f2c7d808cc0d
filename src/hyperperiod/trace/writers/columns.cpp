// SPDX-License-Identifier: BSD-2-Clause

#include "columns.hpp"

#include <algorithm>

namespace hyperperiod::trace {

namespace {

// Records that are gone through once for each column: few enough to stay near the processor, and
// whole bytes of bits.
constexpr std::size_t PIECE = 1024;

// The column from one place on: what `number` makes of each record.
template <class Number, class Of>
void fill(std::span<const Record> records, Number *column, Of number) {
    for (std::size_t at = 0; at < records.size(); at++)
        column[at] = static_cast<Number>(number(records[at]));
}

// The bits from the beginning of a byte on: whether `is` says so of each record.
template <class Is> void mark(std::span<const Record> records, u8 *bits, Is is) {
    for (; !records.empty(); bits++) {
        const std::size_t count = std::min<std::size_t>(records.size(), 8);
        u32 byte = 0;

        for (std::size_t bit = 0; bit < count; bit++)
            byte |= u32{is(records[bit])} << bit;
        *bits = static_cast<u8>(byte);
        records = records.subspan(count);
    }
}

} // namespace

void ColumnWriter::write(std::span<const Record> records, const Columns &columns) const {
    for (std::size_t first = 0; first < records.size(); first += PIECE)
        write_piece(records.subspan(first, std::min(PIECE, records.size() - first)), first,
                    columns);
}

void ColumnWriter::write_piece(std::span<const Record> records, std::size_t first,
                               const Columns &to) const {
    const std::size_t byte = first / 8;

    fill(records, to.time_ns + first, [](const Record &one) { return one.time; });
    fill(records, to.kind + first,
         [](const Record &one) { return one.kind - static_cast<u32>(Event::run); });
    fill(records, to.pcpu + first, [](const Record &one) { return one.pcpu; });
    mark(records, to.has_pcpu + byte, [](const Record &one) { return one.pcpu != nobody; });
    fill(records, to.vcpu + first, [this](const Record &one) { return server(one.vcpu); });
    mark(records, to.has_vcpu + byte, [](const Record &one) { return one.vcpu != nobody; });
    fill(records, to.payer + first, [this](const Record &one) { return server(one.payer); });
    mark(records, to.has_payer + byte, [](const Record &one) { return one.payer != nobody; });
    fill(records, to.task + first, [](const Record &one) { return one.task; });
    mark(records, to.has_task + byte, [](const Record &one) { return one.task != nobody; });
    fill(records, to.job + first, [](const Record &one) { return one.job; });
    mark(records, to.has_job + byte, [](const Record &one) { return one.has_job(); });
    fill(records, to.value + first, [](const Record &one) { return one.value; });
    mark(records, to.also_pays + byte,
         [](const Record &one) { return one.has(HP_RECORD_SECOND_PAYER); });
    mark(records, to.extra_time + byte, [](const Record &one) { return one.has(HP_RECORD_EXTRA); });
    mark(records, to.stolen + byte, [](const Record &one) { return one.has(HP_RECORD_STOLEN); });
}

} // namespace hyperperiod::trace
