# SPDX-License-Identifier: BSD-2-Clause
# The ring is read as text, as JSON, as a file, and while it fills; Xen's own trace has the events.
ok hyperperiod-xen trace real-time --cpu 1 -o /results/ring1
ok hyperperiod-xen trace real-time --cpu 2 -o /results/ring2
hyperperiod-xen trace real-time --cpu 1 --json >/results/trace.json
hyperperiod-xen trace real-time --cpu 1 | tail -n 5
echo "+ follow"
hyperperiod-xen trace real-time --cpu 1 --follow -o /results/followed &
sleep 1
kill $!
wait $!
ok xentrace -D -e 0x0002f000 -T 1 /results/xentrace
