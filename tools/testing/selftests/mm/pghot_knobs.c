// SPDX-License-Identifier: GPL-2.0
/*
 * What every knob of pghot accepts and refuses, through both interfaces.
 *
 * A table of inputs is written to each sysctl and each debugfs file: the
 * errno must be the documented one, an accepted value must read back, and a
 * refused write must leave the reading as it was.  The names of all sysctls,
 * debugfs files, counters and tracepoints are compared with golden lists:
 * scripts rely on them, and a renamed counter is a broken dashboard.
 *
 * Each write is printed as a row of a Markdown table:
 *	# | knob | value | interface | errno | before | after |
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kselftest.h"
#include "vm_util.h"
#include "pghot_util.h"

static struct pghot_topology topo;
static bool precise;
static bool hwhint;

/* --- inputs ------------------------------------------------------------ */

struct input {
	const char *text;
	size_t len;
	const char *shown;	/* in the table; NULL: text as it is */
	bool number;		/* well formed, the value decides */
	long long val;
	off_t at;
	/* of those made from a form */
	char text_made[64];
	char shown_made[128];
};

#define MAX_INPUTS	64
static struct input inputs[MAX_INPUTS];
static int nr_inputs;
static char many_digits[4096];

static struct input *add(void)
{
	struct input *in = &inputs[nr_inputs];

	if (nr_inputs == MAX_INPUTS)
		ksft_exit_fail_msg("too many inputs\n");
	nr_inputs++;
	memset(in, 0, sizeof(*in));
	return in;
}

/* What does not print, as in C; in quotes if there are blanks. */
static void show(char *out, const char *text, size_t len)
{
	static const char special[] = "\n\t\r\v\f", letter[] = "ntrvf0";
	const char *quote = memchr(text, ' ', len) ? "'" : "";
	const char *s;
	size_t i;

	out += sprintf(out, "%s", quote);
	for (i = 0; i < len; i++) {
		/* finds the NUL of special, too */
		s = strchr(special, text[i]);
		if (s)
			*out++ = '\\';
		*out++ = s ? letter[s - special] : text[i];
	}
	sprintf(out, "%s", len ? quote : "(empty)");
}

/* @form with @val in place of each '#'. */
static struct input *add_form(const char *form, size_t len, long long val)
{
	struct input *in = add();
	size_t i;

	for (i = 0; i < len; i++) {
		if (form[i] == '#')
			in->len += sprintf(in->text_made + in->len, "%lld",
					   val);
		else
			in->text_made[in->len++] = form[i];
	}
	in->text = in->text_made;
	show(in->shown_made, in->text, in->len);
	in->shown = in->shown_made;
	return in;
}

static void add_number(const char *form, long long val)
{
	struct input *in = add_form(form, strlen(form), val);

	in->number = true;
	in->val = val;
}

static void add_value(long long val)
{
	add_number("#", val);
}

static void add_at(off_t at, long long val)
{
	struct input *in = add_form("#", 1, val);

	in->at = at;
	sprintf(in->shown_made, "%lld at offset %ld", val, (long)at);
}

/* Of a value that the knob takes: any other is refused for what it is. */
#define BAD(form)	add_form(form, sizeof(form) - 1, max)

/*
 * Inputs for a knob with the range @min..@max: values around both ends, the
 * same value in all allowed spellings, and everything which is no number.
 */
static void make_inputs(long long min, long long max)
{
	struct input *in;

	nr_inputs = 0;
	add_value(min);
	add_value(min - 1);
	add_value(max);
	add_value(max + 1);
	add_value((min + max) / 2);
	add_value(-1);
	add_value(-2);
	add_value(0);
	/* ends of the C types: a cut or wrapped value must not slip in */
	add_value(2147483647LL);
	add_value(-2147483648LL);
	add_value(4294967295LL);
	add_value(4294967296LL + min);
	add_number("18446744073709551615", (1ULL << 63) - 1);
	add_number("18446744073709551616", (1ULL << 63) - 1);
	add_number("18446744073709551617", (1ULL << 63) - 1);
	add_number("#\n", max);
	add_number(" #", max);
	add_number(" \t #\n", max);
	add_number("00#", max);
	BAD("");
	BAD("\n");
	BAD(" ");
	BAD("\x20\n");
	BAD("+#");
	BAD("-");
	BAD("--1");
	BAD("- 1");
	BAD("0x10");
	BAD("0x#");
	BAD("#x");
	BAD("x#");
	BAD("#.0");
	BAD("#e1");
	BAD("#,#");
	BAD("# #");
	BAD("#\n#");
	BAD("#\n\n");
	BAD("\n#");
	BAD("# ");
	BAD("#\x20\n");
	BAD("#\t");
	BAD("#\r\n");
	BAD("\v#");
	BAD("\f#");
	BAD("#\0");
	BAD("\0#");
	BAD("#\0#");
	BAD("on");
	BAD("default");
	memset(many_digits, '1', sizeof(many_digits));
	in = add();
	in->text = many_digits;
	in->len = sizeof(many_digits);
	in->shown = "4096 x 1";
	add_at(1, max);
	add_at(4096, max);
}

/* --- knobs ------------------------------------------------------------- */

struct knob {
	const char *sysctl;	/* name below /proc/sys/vm, or NULL */
	const char *debugfs;	/* name below the debugfs directory, or NULL */
	long long min;
	long long max;
	const char *initial;
	int (*expect)(const struct knob *knob, long long val);
};

static int expect_range(const struct knob *knob, long long val)
{
	return val < knob->min || val > knob->max ? -EINVAL : 0;
}

/* Without a driver for hardware hints, bit 1 cannot be armed. */
static int expect_sources(const struct knob *knob, long long val)
{
	if (val < 0 || val > 3)
		return -EINVAL;
	return val & 2 ? -ENODEV : 0;
}

static int expect_nid(const struct knob *knob, long long val)
{
	if (val == -1)
		return 0;
	if (val < 0 || val >= PGHOT_MAX_NODES)
		return -EINVAL;
	return topo.online[val] && topo.memory[val] && topo.top[val] ? 0 :
								       -EINVAL;
}

static struct knob knobs[] = {
	{ "pghot_enabled_sources", "enabled_sources",
	  0, 1, "1", expect_sources },
	{ "pghot_target_nid", "target_nid",
	  -1, 0, "-1", expect_nid },
	{ "pghot_freq_threshold", "freq_threshold",
	  1, 3, "2", expect_range },
	{ "pghot_promote_freq_window_ms", "freq_window_ms",
	  100, 60000, "3000", expect_range },
	{ "pghot_promote_rate_limit_MBps", "rate_limit_MBps",
	  0, 1048576, "65536", expect_range },
	{ "pghot_hwhint_cpu_permille", NULL,
	  1, 250, "10", expect_range },
	{ NULL, "kmigrated_sleep_ms",
	  50, 1000, "100", expect_range },
	{ NULL, "kmigrated_batch_nr",
	  64, 1024, "512", expect_range },
};

static int write_at(const char *path, const struct input *in)
{
	ssize_t n;
	int fd, err = 0;

	fd = open(path, O_WRONLY);
	if (fd < 0)
		return -errno;
	n = in->at ? pwrite(fd, in->text, in->len, in->at) :
		     write(fd, in->text, in->len);
	if (n < 0)
		err = -errno;
	else if ((size_t)n != in->len)
		err = -EIO;
	close(fd);
	return err;
}

static const char *errno_name(int err)
{
	switch (err) {
	case 0:
		return "0";
	case -EINVAL:
		return "EINVAL";
	case -ENODEV:
		return "ENODEV";
	case -EIO:
		return "short write";
	}
	return strerror(-err);
}

/* One input into one file; true if all of it is as it should be. */
static bool try_input(const struct knob *knob, const char *path,
		      const char *interface, const struct input *in)
{
	int want = in->number && !in->at ? knob->expect(knob, in->val) : -EINVAL;
	char before[64], after[64], expected[64];
	const char *err;
	bool ok;
	int got;

	err = pghot_read(path, before, sizeof(before));
	if (err) {
		ksft_print_msg("%s\n", err);
		return false;
	}
	got = write_at(path, in);
	err = pghot_read(path, after, sizeof(after));
	if (err) {
		ksft_print_msg("%s\n", err);
		return false;
	}
	ksft_print_msg("| %s | %s | %s | %s | %s | %s |\n",
		       knob->sysctl ? knob->sysctl : knob->debugfs,
		       in->shown ? in->shown : in->text, interface,
		       errno_name(got), before, after);

	snprintf(expected, sizeof(expected), "%lld", in->val);
	ok = got == want && !strcmp(after, got ? before : expected);
	if (!ok)
		ksft_print_msg("WRONG: %s: '%s' should give %s and leave %s\n",
			       path, in->shown ? in->shown : in->text,
			       errno_name(want), want ? before : expected);
	return ok;
}

static void try_knob(struct knob *knob, const char *path, const char *interface)
{
	const char *name = strrchr(path, '/') + 1;
	int bad = 0, i;
	struct stat st;
	char buf[64];

	if (pghot_read(path, buf, sizeof(buf)) || stat(path, &st)) {
		ksft_test_result_fail("%s %s: cannot be read\n", interface,
				      name);
		return;
	}
	ksft_test_result((st.st_mode & 07777) == 0644, "%s %s: mode is 0644\n",
			 interface, name);
	if (strcmp(buf, knob->initial))
		ksft_print_msg("is %s\n", buf);
	ksft_test_result(!strcmp(buf, knob->initial), "%s %s: default is %s\n",
			 interface, name, knob->initial);

	make_inputs(knob->min, knob->max);
	for (i = 0; i < nr_inputs; i++)
		bad += !try_input(knob, path, interface, &inputs[i]);
	if (pghot_write(path, knob->initial)) {
		ksft_print_msg("cannot be put back\n");
		bad++;
	}
	ksft_test_result(!bad, "%s %s: %d inputs\n", interface, name,
			 nr_inputs);
}

static void check_knobs(void)
{
	char path[256];
	unsigned int i;

	ksft_print_msg("| knob | value | interface | errno | before | after |\n");
	ksft_print_msg("|---|---|---|---|---|---|\n");
	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		struct knob *knob = &knobs[i];

		if (knob->sysctl) {
			snprintf(path, sizeof(path), PGHOT_SYSCTL_DIR "/%s",
				 knob->sysctl);
			try_knob(knob, path, "sysctl");
		}
		if (knob->debugfs) {
			snprintf(path, sizeof(path), PGHOT_DEBUGFS_DIR "/%s",
				 knob->debugfs);
			try_knob(knob, path, "debugfs");
		}
	}
}

/* Every node id there can be, and two beyond either end. */
static void check_every_nid(const char *path, const char *interface)
{
	int max = pghot_max_numnodes();
	const struct knob *knob = &knobs[1];
	int bad = 0, accepted = 0, nid;
	struct input in = {};
	char text[16];

	if (max <= 0) {
		ksft_test_result_fail("%s target_nid: MAX_NUMNODES unknown\n",
				      interface);
		return;
	}
	for (nid = -2; nid <= max + 1; nid++) {
		snprintf(text, sizeof(text), "%d", nid);
		in.text = text;
		in.len = strlen(text);
		in.number = true;
		in.val = nid;
		bad += !try_input(knob, path, interface, &in);
		accepted += !expect_nid(knob, nid);
	}
	pghot_write(path, knob->initial);
	ksft_test_result(!bad && accepted >= 2,
			 "%s target_nid: every nid from -2 to %d, %d accepted\n",
			 interface, max + 1, accepted);
}

/* Two names of one variable: what goes in here comes out there. */
static void check_same(const char *one, const char *other)
{
	static const char * const values[] = { "0", "1", "4711", "1048576" };
	char buf[64];
	unsigned int i;
	int bad = 0;

	for (i = 0; i < ARRAY_SIZE(values); i++) {
		if (pghot_write(one, values[i]) ||
		    pghot_read(other, buf, sizeof(buf)) ||
		    strcmp(buf, values[i])) {
			ksft_print_msg("%s in, %s out\n", values[i], buf);
			bad++;
		}
		pghot_write(one, PGHOT_RATE_DEFAULT);
	}
	ksft_test_result(!bad, "%s is %s\n", strrchr(one, '/') + 1,
			 strrchr(other, '/') + 1);
}

/* debugfs and sysctl are two doors to the same knob. */
static void check_both_doors(void)
{
	char one[256], other[256], buf[64];
	int bad = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		struct knob *knob = &knobs[i];
		char val[24];

		if (!knob->sysctl || !knob->debugfs)
			continue;
		snprintf(one, sizeof(one), PGHOT_SYSCTL_DIR "/%s",
			 knob->sysctl);
		snprintf(other, sizeof(other), PGHOT_DEBUGFS_DIR "/%s",
			 knob->debugfs);
		/* the end of the range which is not the default */
		snprintf(val, sizeof(val), "%lld",
			 atoll(knob->initial) == knob->max ? knob->min :
							     knob->max);
		if (pghot_write(one, val) ||
		    pghot_read(other, buf, sizeof(buf)) || strcmp(buf, val)) {
			ksft_print_msg("%s: %s in, %s out at debugfs\n",
				       knob->sysctl, val, buf);
			bad++;
		}
		if (pghot_write(other, knob->initial) ||
		    pghot_read(one, buf, sizeof(buf)) ||
		    strcmp(buf, knob->initial)) {
			ksft_print_msg("%s: %s in at debugfs, %s out\n",
				       knob->sysctl, knob->initial, buf);
			bad++;
		}
	}
	ksft_test_result(!bad, "sysctl and debugfs show the same values\n");
}

/* status is to be read only, and has its three lines. */
static void check_status(void)
{
	static struct pghot_status status;
	const char *err = pghot_read_status(&status);
	struct stat st;

	if (err)
		ksft_print_msg("%s\n", err);
	ksft_test_result(!err && !stat(PGHOT_STATUS, &st) &&
			 !(st.st_mode & 0222), "status can be read only\n");
}

/* --- golden lists ------------------------------------------------------ */

static const char * const golden_sysctls[] = {
	"pghot_enabled_sources", "pghot_freq_threshold",
	"pghot_hwhint_cpu_permille", "pghot_promote_freq_window_ms",
	"pghot_promote_rate_limit_MBps", "pghot_target_nid", NULL
};

static const char * const golden_debugfs[] = {
	"enabled_sources", "freq_threshold", "freq_window_ms",
	"kmigrated_batch_nr", "kmigrated_sleep_ms", "rate_limit_MBps",
	"status", "target_nid", NULL
};

static const char * const golden_debugfs_hwhint[] = {
	"enabled_sources", "freq_threshold", "freq_window_ms", "hwhint",
	"kmigrated_batch_nr", "kmigrated_sleep_ms", "rate_limit_MBps",
	"status", "target_nid", NULL
};

static const char * const golden_hwhint[] = {
	"driver", "l3miss_only", "period", NULL
};

static const char * const golden_events[] = {
	"kmigrated_batch", "pghot_queue", "pghot_record", "pghot_refuse", NULL
};

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char * const *)a, *(char * const *)b);
}

/* The names in @dir which start with @prefix are exactly @golden, sorted. */
static void check_names(const char *dir, const char *prefix,
			const char * const *golden)
{
	char *names[64];
	struct dirent *d;
	int nr = 0, want = 0, i;
	bool ok = true;
	DIR *stream;

	while (golden[want])
		want++;
	stream = opendir(dir);
	if (!stream) {
		ksft_perror(dir);
		ksft_test_result_fail("names in %s\n", dir);
		return;
	}
	while ((d = readdir(stream))) {
		if (d->d_name[0] == '.' ||
		    strncmp(d->d_name, prefix, strlen(prefix)) ||
		    !strcmp(d->d_name, "enable") ||
		    !strcmp(d->d_name, "filter"))
			continue;
		if (nr == ARRAY_SIZE(names))
			break;
		names[nr++] = strdup(d->d_name);
	}
	closedir(stream);
	qsort(names, nr, sizeof(*names), by_name);
	for (i = 0; i < nr || i < want; i++) {
		const char *is = i < nr ? names[i] : "(none)";
		const char *should = i < want ? golden[i] : "(none)";

		if (!strcmp(is, should))
			continue;
		ksft_print_msg("%s instead of %s\n", is, should);
		ok = false;
	}
	while (nr)
		free(names[--nr]);
	ksft_test_result(ok, "names in %s\n", dir);
}

/* Our counters stand in /proc/vmstat as one block, in this order. */
static void check_vmstat(void)
{
	int at = -1, bad = 0;
	char line[256], name[128];
	FILE *f;

	f = fopen("/proc/vmstat", "r");
	while (f && fgets(line, sizeof(line), f)) {
		bool ours;

		if (sscanf(line, "%127s", name) != 1)
			continue;
		ours = !strncmp(name, "pghot_", 6) ||
		       !strncmp(name, "hwhint_", 7);
		if (at < 0 && !ours)
			continue;
		at++;
		if (at < NR_PGHOT_COUNTERS) {
			if (strcmp(name, pghot_counter_names[at])) {
				ksft_print_msg("%s instead of %s\n", name,
					       pghot_counter_names[at]);
				bad++;
			}
		} else if (ours) {
			ksft_print_msg("%s is too much\n", name);
			bad++;
		}
	}
	if (f)
		fclose(f);
	ksft_test_result(!bad && at + 1 >= NR_PGHOT_COUNTERS,
			 "/proc/vmstat: %d counters in order\n",
			 NR_PGHOT_COUNTERS);
}

int main(void)
{
	const char *err;

	ksft_print_header();
	if (!pghot_config("CONFIG_PGHOT_PRECISE", &precise))
		ksft_exit_fail_msg("precondition: neither /proc/config.gz nor /boot/config\n");
	pghot_config("CONFIG_PGHOT_HWHINT", &hwhint);
	if (precise)
		knobs[2].max = 15;

	/* For its preconditions; then back to what the kernel came up with. */
	err = pghot_setup(&topo, 1, 1);
	if (err)
		ksft_exit_fail_msg("%s\n", err);
	pghot_restore();

	ksft_set_plan(13 * 3 + 2 + 2 + 1 + 1 + 4 + 1 + hwhint);
	check_knobs();
	check_every_nid(PGHOT_TARGET_NID, "sysctl");
	check_every_nid(PGHOT_DEBUGFS("target_nid"), "debugfs");
	check_same(PGHOT_RATE_LIMIT, NUMA_BALANCING_LIMIT);
	check_same(NUMA_BALANCING_LIMIT, PGHOT_RATE_LIMIT);
	check_both_doors();
	check_status();
	check_names(PGHOT_SYSCTL_DIR, "pghot_", golden_sysctls);
	check_names(PGHOT_DEBUGFS_DIR, "",
		    hwhint ? golden_debugfs_hwhint : golden_debugfs);
	if (hwhint)
		check_names(PGHOT_DEBUGFS("hwhint"), "", golden_hwhint);
	if (access("/sys/kernel/tracing/events", F_OK))
		mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
	check_names("/sys/kernel/tracing/events/pghot", "", golden_events);
	check_vmstat();
	err = pghot_assert_conservation();
	if (err)
		ksft_print_msg("%s\n", err);
	ksft_test_result(!err, "conservation\n");
	pghot_restore();
	ksft_finished();
}
