#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# secureboot.t - the Debian packages on a Debian 12 whose firmware has UEFI Secure Boot, in a virtual
# machine. The firmware has Microsoft's keys alone, as a PC has: it starts Debian's shim, which starts
# Debian's GRUB and kernel. The kernel refuses the module until the key of DKMS is enrolled by the
# commands of docs/hardening.md. enrol.exp then uses the menu of MokManager as a user would.
# secureboot_guest.sh runs in the guest, once after each boot. Runs as root.
set -u
unset CDPATH

# shellcheck source=tests/packages/machine.sh
. "$(dirname "$0")/machine.sh"

firmware=/usr/share/OVMF
esp=$temporary/esp

# make_esp - make the EFI system partition: shim, at the path that firmware tries without a boot entry,
# MokManager and GRUB. GRUB and the kernel are those of the root directory.
make_esp() {
	cat >"$temporary/grub.cfg" <<END
search --label root --set=root
linux /boot/$(cd "$root/boot" && echo vmlinuz-*) $(kernel_arguments)
initrd /boot/$(cd "$root/boot" && echo initrd.img-*amd64)
boot
END
	mkfs.vfat -C -n ESP "$esp" 65536 &&
		mmd -i "$esp" ::/EFI ::/EFI/BOOT ::/EFI/debian &&
		mcopy -i "$esp" "$root/usr/lib/shim/shimx64.efi.signed" ::/EFI/BOOT/BOOTX64.EFI &&
		mcopy -i "$esp" "$root/usr/lib/shim/mmx64.efi.signed" ::/EFI/BOOT/mmx64.efi &&
		mcopy -i "$esp" "$root/usr/lib/grub/x86_64-efi-signed/grubx64.efi.signed" \
			::/EFI/BOOT/grubx64.efi &&
		mcopy -i "$esp" "$temporary/grub.cfg" ::/EFI/debian/grub.cfg
}

# run_secure [PROGRAM ARGUMENT] - run the machine until it reboots or powers off. The firmware's variables
# are in a file. Each boot has an emulator of its own: one that reboots keeps the translated code of the
# boot before, and all writes to those pages of memory are slow.
run_secure() {
	run_machine "$@" qemu-system-x86_64 -no-reboot -machine q35,smm=on \
		-global driver=cfi.pflash01,property=secure,value=on \
		-drive "if=pflash,unit=0,format=raw,readonly=on,file=$firmware/OVMF_CODE_4M.ms.fd" \
		-drive "if=pflash,unit=1,format=raw,file=$temporary/variables" \
		-drive "file=$esp,format=raw,if=virtio,cache=unsafe"
}

password=purple
"$tests/need.sh" dosfstools e2fsprogs expect mtools ovmf qemu-system-x86 || exit 1
make_machine bookworm secureboot_guest.sh "$new" "$password" &&
	shown hardening.md "Secure Boot" >"$root/test/enrol" || exit 1
result "the packages install with apt" "$(succeeds 'cd /packages/now && sh -ex /test/install')"
{
	cp "$firmware/OVMF_VARS_4M.ms.fd" "$temporary/variables" && make_esp && make_disk
} >"$temporary/made" 2>&1 || {
	cat "$temporary/made"
	exit 1
}
began=$(date +%s)
run_secure && run_secure "$tests/packages/enrol.exp" "$password" && run_secure && run_secure
status=$?
echo "# three boots with Secure Boot: $(($(date +%s) - began)) s"
report_machine $status 3
finish
