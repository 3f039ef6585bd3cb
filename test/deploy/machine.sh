#!/bin/bash
# Boots systemd on a copy of this machine's file system that ends with it, in namespaces of its own: PID 1 of a machine that has
# no network but loopback. Usage: machine.sh FOLDER EXECUTABLE PROJECT. The folder is /machine there.
set -eu
if [ "${2:-}" != '' ]; then
  folder=$1 executable=$2 project=$3
  # Cgroups of version 2 only: what systemd does with them then stays below this one.
  cgroups=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
  mkdir -p "$cgroups/$(basename "$folder")/machine"
  echo $$ >"$cgroups/$(basename "$folder")/machine/cgroup.procs"
  export folder executable project
  exec unshare --mount --pid --fork --uts --ipc --net --cgroup --kill-child "$0" boot
fi

mount --make-rprivate /
top=$folder/disk
mkdir "$top"
mount -t tmpfs machine "$top"
mkdir "$top/changed" "$top/work" "$top/root"
mount -t overlay -o "lowerdir=/,upperdir=$top/changed,workdir=$top/work" machine "$top/root"
root=$top/root

mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
for place in run tmp dev etc/systemd/system etc/sysusers.d lib/systemd/system/{sysinit,timers,sockets}.target.wants; do
  mkdir -p "$root/$place"
  mount -t tmpfs -o mode=0755 tmpfs "$root/$place"
done
chmod 1777 "$root/tmp"
mkdir "$root"/dev/{pts,shm} "$root/machine" "$root/project"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"
mount -t tmpfs tmpfs "$root/dev/shm"
for device in null zero full random urandom tty; do
  touch "$root/dev/$device"
  mount --bind "/dev/$device" "$root/dev/$device"
done
mount --bind "$folder" "$root/machine"
mount --bind -o ro "$project" "$root/project"
touch "$root/usr/local/bin/gatehouse"
mount --bind -o ro "$executable" "$root/usr/local/bin/gatehouse"
for unit in journald.socket journald-dev-log.socket journald.service; do
  ln -s "../systemd-$unit" "$root/lib/systemd/system/sysinit.target.wants/systemd-$unit"
done

cd "$root"
mkdir former
pivot_root . former
cd /
umount --lazy /former
# systemd hands credentials to services through a mount that they see.
mount --make-rshared /
exec env -i container=machine PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
  /lib/systemd/systemd --system --unit=multi-user.target --show-status=no
