// SPDX-License-Identifier: BSD-2-Clause
//
// What is used of Perfetto's trace format: fields of messages and values of enums, by the names
// and numbers of its own protos/perfetto/trace/*.proto. A test compares them with those.
#pragma once

#include "record.hpp"

#define PERFETTO_FIELDS(X)                                                                         \
    X(Trace, packet, 1)                                                                            \
    X(TracePacket, timestamp, 8)                                                                   \
    X(TracePacket, trusted_packet_sequence_id, 10)                                                 \
    X(TracePacket, track_event, 11)                                                                \
    X(TracePacket, interned_data, 12)                                                              \
    X(TracePacket, sequence_flags, 13)                                                             \
    X(TracePacket, track_descriptor, 60)                                                           \
    X(TrackDescriptor, uuid, 1)                                                                    \
    X(TrackDescriptor, name, 2)                                                                    \
    X(TrackDescriptor, parent_uuid, 5)                                                             \
    X(TrackDescriptor, counter, 8)                                                                 \
    X(TrackDescriptor, child_ordering, 11)                                                         \
    X(TrackDescriptor, sibling_order_rank, 12)                                                     \
    X(CounterDescriptor, unit, 3)                                                                  \
    X(TrackEvent, category_iids, 3)                                                                \
    X(TrackEvent, debug_annotations, 4)                                                            \
    X(TrackEvent, type, 9)                                                                         \
    X(TrackEvent, name_iid, 10)                                                                    \
    X(TrackEvent, track_uuid, 11)                                                                  \
    X(TrackEvent, name, 23)                                                                        \
    X(TrackEvent, counter_value, 30)                                                               \
    X(DebugAnnotation, name_iid, 1)                                                                \
    X(DebugAnnotation, uint_value, 3)                                                              \
    X(DebugAnnotation, string_value_iid, 17)                                                       \
    X(InternedData, event_categories, 1)                                                           \
    X(InternedData, event_names, 2)                                                                \
    X(InternedData, debug_annotation_names, 3)                                                     \
    X(InternedData, debug_annotation_string_values, 29)                                            \
    X(EventCategory, iid, 1)                                                                       \
    X(EventCategory, name, 2)                                                                      \
    X(EventName, iid, 1)                                                                           \
    X(EventName, name, 2)                                                                          \
    X(DebugAnnotationName, iid, 1)                                                                 \
    X(DebugAnnotationName, name, 2)                                                                \
    X(InternedString, iid, 1)                                                                      \
    X(InternedString, str, 2)

#define PERFETTO_VALUES(X)                                                                         \
    X(TracePacket, SEQ_INCREMENTAL_STATE_CLEARED, 1)                                               \
    X(TracePacket, SEQ_NEEDS_INCREMENTAL_STATE, 2)                                                 \
    X(TrackDescriptor, EXPLICIT, 3)                                                                \
    X(CounterDescriptor, UNIT_TIME_NS, 1)                                                          \
    X(TrackEvent, TYPE_SLICE_BEGIN, 1)                                                             \
    X(TrackEvent, TYPE_SLICE_END, 2)                                                               \
    X(TrackEvent, TYPE_INSTANT, 3)                                                                 \
    X(TrackEvent, TYPE_COUNTER, 4)

namespace hyperperiod::trace {

#define CONSTANT(message, name, number) inline constexpr u32 message##_##name = number;
PERFETTO_FIELDS(CONSTANT)
PERFETTO_VALUES(CONSTANT)
#undef CONSTANT

} // namespace hyperperiod::trace
