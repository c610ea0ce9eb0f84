// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's side of lab/vm/run: runs one command and reports over a virtio
 * port, as frames of one type byte, a 32-bit little-endian length and data:
 *
 *   h  booted (no data)
 *   o  standard output
 *   e  standard error
 *   x  exit status, 32 bits; the last frame
 *
 * Frames keep the output binary-clean and complete: whoever has read 'x' has
 * read everything before it.  init executes this as process 1, so it also
 * reaps orphans and, after a last program, switches the machine off.
 *
 * Usage: agent <port> <file with the command, each word ended by a NUL> <last>
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/reboot.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_WORDS 4096

static int port = -1;

static void put(const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(port, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		p += n;
		len -= n;
	}
}

static void frame(char type, const void *data, uint32_t len)
{
	char head[5] = { type };

	memcpy(head + 1, &len, sizeof(len));	/* x86: little-endian */
	put(head, sizeof(head));
	put(data, len);
}

/* Forward up to max bytes; 0 once the writers are gone, -1 if nothing is. */
static ssize_t forward(int fd, char type, size_t max)
{
	static char buf[65536];
	ssize_t n = read(fd, buf, max < sizeof(buf) ? max : sizeof(buf));

	if (n > 0)
		frame(type, buf, n);
	return n;
}

/* Forward what the pipe holds now and no more: a daemon may never stop. */
static void drain(int fd, char type)
{
	int left = 0;
	ssize_t n;

	ioctl(fd, FIONREAD, &left);
	for (; left > 0; left -= n) {
		n = forward(fd, type, left);
		if (n <= 0)
			return;
	}
}

static char **load_command(const char *path)
{
	static char buf[1 << 20], *argv[MAX_WORDS + 1];
	int fd = open(path, O_RDONLY | O_CLOEXEC), argc = 0;
	ssize_t n = read(fd, buf, sizeof(buf) - 1);

	for (char *p = buf; n > 0 && p < buf + n && argc < MAX_WORDS;
	     p += strlen(p) + 1)
		argv[argc++] = p;
	close(fd);
	return argv;
}

static pid_t start(char **argv, int out, int err, const sigset_t *mask)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	setsid();
	sigprocmask(SIG_SETMASK, mask, NULL);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	execvp(argv[0], argv);
	dprintf(STDERR_FILENO, "%s: %s\n", argv[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126);
}

static uint32_t code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

static void on_child(int sig)
{
	(void)sig;
}

/* True if the command ended; its wait status then.  Reaps orphans as well. */
static int reap(pid_t child, int *result)
{
	int status, done = 0;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid == child) {
			done = 1;
			*result = status;
		}
	}
	return done;
}

/*
 * Returns as soon as the command ended, not when its pipes are closed: it may
 * have left a daemon behind that holds them.  SIGCHLD is let in by ppoll()
 * only.
 */
static uint32_t relay(pid_t child, int out, int err, const sigset_t *mask)
{
	struct pollfd fds[2] = {
		{ .fd = out, .events = POLLIN },
		{ .fd = err, .events = POLLIN },
	};
	int status;

	while (!reap(child, &status)) {
		if (ppoll(fds, 2, NULL, mask) < 0)
			continue;
		if (fds[0].revents && !forward(out, 'o', SIZE_MAX))
			fds[0].fd = -1;
		if (fds[1].revents && !forward(err, 'e', SIZE_MAX))
			fds[1].fd = -1;
	}
	drain(out, 'o');
	drain(err, 'e');
	return code(status);
}

static void run_last(char *path)
{
	pid_t pid = fork();

	if (!pid) {
		execl(path, path, NULL);
		_exit(127);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void pipe_to_me(int p[2])
{
	if (pipe2(p, O_CLOEXEC))
		_exit(1);
	fcntl(p[0], F_SETFL, O_NONBLOCK);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_child };
	sigset_t chld, mask;
	int out[2], err[2];
	uint32_t result;
	pid_t child;

	if (argc != 4)
		return 1;
	port = open(argv[1], O_WRONLY | O_CLOEXEC);
	frame('h', NULL, 0);

	sigaction(SIGCHLD, &sa, NULL);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &mask);

	pipe_to_me(out);
	pipe_to_me(err);
	child = start(load_command(argv[2]), out[1], err[1], &mask);
	close(out[1]);
	close(err[1]);
	result = relay(child, out[0], err[0], &mask);
	frame('x', &result, sizeof(result));

	sigprocmask(SIG_SETMASK, &mask, NULL);
	run_last(argv[3]);
	sync();
	reboot(RB_POWER_OFF);
	return 1;
}
