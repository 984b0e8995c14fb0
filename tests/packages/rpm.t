#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# rpm.t RELEASE - install the RPM package of the module in a root directory of that release of Debian, with
# rpm and DKMS, upgrade it to another release of the same version, then to a newer version, and remove it.
# DKMS builds the module there; no kernel loads it. The packages are those that sources.t leaves in
# .cache/build/rpm. Runs as root.
#
# The root directory is an overlay of the one that root.sh keeps, and is discarded at the end. rpm does not
# know that dpkg has installed DKMS. Nor has it packages that own the directories of the system, which
# other distributions with RPM have: so a directory that rpm makes for a file, and that is no package's,
# stays.
# shellcheck disable=SC2086 # a list of kernels, split on purpose
set -u

# shellcheck source=tests/packages/root_copy.sh
. "$(dirname "$0")/root_copy.sh"
release=$1

# rpm_runs OPTION... - run rpm in the root directory. It prints nothing unless something is wrong.
rpm_runs() {
	succeeds "rpm $force --nodeps $*"
	grep -i -e error -e warning "$temporary/log"
}

# sources - print the versions whose sources are there, and those that DKMS knows.
sources() {
	enter 'ls -d /usr/src/hashbelt-* /var/lib/dkms/hashbelt/[0-9]* 2>/dev/null || true'
}

open_root "$release" && list_kernels && cp -r "$top/.cache/build/rpm/." "$root/packages" || exit 1
# The rpm of Debian 12 refuses to install anything without this option, and later ones do not know it.
enter 'rpm --force-debian --version' >"$temporary/log" 2>&1 && force=--force-debian || force=''
# With this program DKMS would link the module of one kernel for others.
enter 'printf "#!/bin/sh\necho \"\$@\" >>/weak\n" >/usr/sbin/weak-modules && chmod 755 /usr/sbin/weak-modules'
enter 'rpm --initdb && cd /usr && mkdir -p lib/modules-load.d lib/sysusers.d share/licenses share/man/man4'
files >"$temporary/files"

result "RPM on Debian $release: the package installs" "$(rpm_runs -i "/packages/$new-1/*")"
result "RPM on Debian $release: DKMS builds the module for each kernel" \
	"$(different "$(versions "$new" $kernels)" "$(modules)")"
result "RPM on Debian $release: another release of the same version installs" "$(rpm_runs -U "/packages/$new-2/*")"
result "RPM on Debian $release: each kernel has the module after that" \
	"$(different "$(versions "$new" $kernels)" "$(modules)")"
result "RPM on Debian $release: a newer version installs" "$(rpm_runs -U "/packages/$newer-1/*")"
result "RPM on Debian $release: each kernel has the module of the newer version" \
	"$(different "$(versions "$newer" $kernels)" "$(modules)")"
result "RPM on Debian $release: the sources of the version before are gone" \
	"$(different "/usr/src/hashbelt-$newer
/var/lib/dkms/hashbelt/$newer" "$(sources)")"
result "RPM on Debian $release: the package can be removed" "$(rpm_runs -e hashbelt-dkms)"
result "RPM on Debian $release: no kernel has the module after that" "$(modules)"
result "RPM on Debian $release: DKMS links no module for other kernels" "$(cat "$root/weak" 2>/dev/null)"
files >"$temporary/left"
result "RPM on Debian $release: the files after the removal are those before the installation" \
	"$(diff "$temporary/files" "$temporary/left" | grep '^[<>]')"
finish
