/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM pghot

#if !defined(_TRACE_PGHOT_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_PGHOT_H

#include <linux/pghot.h>
#include <linux/tracepoint.h>

/* For user space, which sees the names and not the values. */
TRACE_DEFINE_ENUM(PGHOT_HINTFAULT);
TRACE_DEFINE_ENUM(PGHOT_HWHINT);
TRACE_DEFINE_ENUM(KMIGRATED_INELIGIBLE);
TRACE_DEFINE_ENUM(KMIGRATED_POLICY);
TRACE_DEFINE_ENUM(KMIGRATED_STALE);
TRACE_DEFINE_ENUM(KMIGRATED_TARGET);
TRACE_DEFINE_ENUM(KMIGRATED_ISOLATE);
TRACE_DEFINE_ENUM(KMIGRATED_MIGRATE);

TRACE_EVENT(pghot_record,

	TP_PROTO(unsigned long pfn, int nid, int src, unsigned int accesses),

	TP_ARGS(pfn, nid, src, accesses),

	TP_STRUCT__entry(
		__field(unsigned long,	pfn)
		__field(int,		nid)
		__field(int,		src)
		__field(unsigned int,	accesses)
	),

	TP_fast_assign(
		__entry->pfn = pfn;
		__entry->nid = nid;
		__entry->src = src;
		__entry->accesses = accesses;
	),

	TP_printk("pfn=0x%lx nid=%d source=%s accesses=%u",
		  __entry->pfn, __entry->nid,
		  __print_symbolic(__entry->src,
				   { PGHOT_HINTFAULT,		"hintfault" },
				   { PGHOT_HWHINT,		"hwhint" }),
		  __entry->accesses)
);

TRACE_EVENT(pghot_queue,

	TP_PROTO(unsigned long pfn, unsigned int nr_pages, int from, int to),

	TP_ARGS(pfn, nr_pages, from, to),

	TP_STRUCT__entry(
		__field(unsigned long,	pfn)
		__field(unsigned int,	nr_pages)
		__field(int,		from)
		__field(int,		to)
	),

	TP_fast_assign(
		__entry->pfn = pfn;
		__entry->nr_pages = nr_pages;
		__entry->from = from;
		__entry->to = to;
	),

	TP_printk("pfn=0x%lx pages=%u from=%d to=%d", __entry->pfn,
		  __entry->nr_pages, __entry->from, __entry->to)
);

TRACE_EVENT(pghot_refuse,

	TP_PROTO(unsigned long pfn, unsigned int nr_pages, int reason),

	TP_ARGS(pfn, nr_pages, reason),

	TP_STRUCT__entry(
		__field(unsigned long,	pfn)
		__field(unsigned int,	nr_pages)
		__field(int,		reason)
	),

	TP_fast_assign(
		__entry->pfn = pfn;
		__entry->nr_pages = nr_pages;
		__entry->reason = reason;
	),

	TP_printk("pfn=0x%lx pages=%u reason=%s", __entry->pfn,
		  __entry->nr_pages,
		  __print_symbolic(__entry->reason,
				   { KMIGRATED_INELIGIBLE,	"ineligible" },
				   { KMIGRATED_POLICY,		"policy" },
				   { KMIGRATED_STALE,		"stale" },
				   { KMIGRATED_TARGET,		"target" },
				   { KMIGRATED_ISOLATE,		"isolate" },
				   { KMIGRATED_MIGRATE,		"migrate" }))
);

TRACE_EVENT(kmigrated_batch,

	TP_PROTO(int from, int to, unsigned int nr_pages, unsigned int success,
		 u64 us),

	TP_ARGS(from, to, nr_pages, success, us),

	TP_STRUCT__entry(
		__field(int,		from)
		__field(int,		to)
		__field(unsigned int,	nr_pages)
		__field(unsigned int,	success)
		__field(u64,		us)
	),

	TP_fast_assign(
		__entry->from = from;
		__entry->to = to;
		__entry->nr_pages = nr_pages;
		__entry->success = success;
		__entry->us = us;
	),

	TP_printk("from=%d to=%d pages=%u success=%u us=%llu", __entry->from,
		  __entry->to, __entry->nr_pages, __entry->success,
		  __entry->us)
);

#endif /* _TRACE_PGHOT_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
