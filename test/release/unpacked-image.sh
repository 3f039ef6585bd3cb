# Runs a program in the files of an image as a container would: as its user, and with a root that is read-only but for /data.
# As root: unshare --mount sh test/release/unpacked-image.sh ROOT DATA USER PROGRAM [ARGUMENT…]
set -eu
root=$1 data=$2 user=$3
shift 3
PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount --bind "$root" "$root"
mount --bind "$data" "$root/data"
for system in proc dev; do mount --rbind "/$system" "$root/$system"; done
mount -o remount,ro,bind "$root"
exec chroot --userspec="$user" "$root" "$@"
