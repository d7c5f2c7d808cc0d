// SPDX-License-Identifier: BSD-2-Clause
//
// The part of the Python face that bounds flows. A stream comes as (wcet, period, jitter, burst,
// queue), where period, jitter or queue may be None; a queue as (size, jitter of the source,
// spacing); a visit as (name of the flow or "", hop, level, stream).

#include <map>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <tuple>

#include "src/hyperperiod/analysis/kernels/bindings.hpp"
#include "src/hyperperiod/analysis/kernels/pieces.hpp"

namespace nb = nanobind;

namespace hyperperiod::analysis {

namespace {

using QueueRow = std::tuple<u64, u64, u64>;
using StreamRow =
    std::tuple<u64, std::optional<u64>, std::optional<u64>, u64, std::optional<QueueRow>>;
using StreamRows = std::vector<StreamRow>;
using VisitRow = std::tuple<std::string, u64, u64, StreamRow>;
// Bound, release and finish of the job that decides.
using LongestRow = std::optional<std::tuple<u64, u64, u64>>;
using PieceRow = std::tuple<std::string, u64, u64, LongestRow>;

Stream stream_of(const StreamRow &row) {
    const auto &[wcet, period, jitter, burst, queue] = row;
    require(wcet != 0 && burst != 0 && period != 0, "a wcet, burst or period of 0");
    Stream stream{checked(wcet), checked(period.value_or(0)), never, burst, 0, 0, 0};
    if (jitter)
        stream.jitter = checked(*jitter);
    if (queue) {
        const auto &[size, source_jitter, spacing] = *queue;
        require(size != 0 && spacing != 0, "a queue or spacing of 0");
        stream.queue = size;
        stream.source_jitter = checked(source_jitter);
        stream.spacing = checked(spacing);
    }
    require(stream.bounded(), "a stream without a bound");
    return stream;
}

std::vector<Stream> streams_of(const StreamRows &rows) {
    std::vector<Stream> streams;
    streams.reserve(rows.size());
    for (const StreamRow &row : rows)
        streams.push_back(stream_of(row));
    return streams;
}

std::optional<u64> known(u64 time) {
    return time == never ? std::nullopt : std::optional<u64>(time);
}

LongestRow row_of(const Longest &longest) {
    if (longest.bound == never)
        return std::nullopt;
    return std::tuple(longest.bound, longest.offset, longest.finish);
}

LongestRow response_of(const StreamRows &own, const StreamRows &above, const SupplyRow &supply,
                       u64 blocking) {
    require(!own.empty(), "no streams");
    return row_of(
        response_bound(streams_of(own), streams_of(above), AnySupply(supply), checked(blocking)));
}

std::optional<u64> backlog_of(u64 work, const StreamRows &above, const SupplyRow &supply,
                              u64 blocking) {
    return known(backlog_bound(work, streams_of(above), AnySupply(supply), checked(blocking)));
}

std::optional<u64> window_of(const StreamRows &streams, const SupplyRow &supply, u64 blocking) {
    return known(busy_window(streams_of(streams), AnySupply(supply), checked(blocking)));
}

// The most releases of each stream in a half-open window.
std::vector<u64> counts_of(const StreamRows &streams, u64 length) {
    std::vector<u64> counts;
    for (const Stream &stream : streams_of(streams))
        counts.push_back(checked(length) == 0 ? 0 : stream.count(length));
    return counts;
}

std::vector<PieceRow> pieces_of(const std::vector<VisitRow> &rows, const SupplyRow &supply,
                                const std::vector<u64> &blocking) {
    std::map<std::string, u64> numbers;
    std::vector<std::string> names;
    std::vector<Visit> visits;
    for (const auto &[flow, hop, level, stream] : rows) {
        require(level < blocking.size(), "a level without its blocking");
        u64 number = no_flow;
        if (!flow.empty()) {
            number = numbers.try_emplace(flow, names.size()).first->second;
            if (number == names.size())
                names.push_back(flow);
        }
        visits.push_back({number, checked(hop), level, stream_of(stream)});
    }
    for (const u64 time : blocking)
        checked(time);
    std::vector<PieceRow> found;
    for (const Piece &piece : piece_bounds(visits, AnySupply(supply), blocking, check_signals))
        found.emplace_back(names[piece.flow], piece.first, piece.last, row_of(piece.longest));
    return found;
}

} // namespace

void bind_flows(nb::module_ &module) {
    module.def("response_bound", &response_of, nb::arg("own"), nb::arg("above"), nb::arg("supply"),
               nb::arg("blocking"));
    module.def("backlog_bound", &backlog_of, nb::arg("backlog"), nb::arg("above"),
               nb::arg("supply"), nb::arg("blocking"));
    module.def("busy_window", &window_of, nb::arg("streams"), nb::arg("supply"),
               nb::arg("blocking"));
    module.def("stream_counts", &counts_of, nb::arg("streams"), nb::arg("window"));
    module.def("piece_bounds", &pieces_of, nb::arg("visits"), nb::arg("supply"),
               nb::arg("blocking"));
}

} // namespace hyperperiod::analysis
