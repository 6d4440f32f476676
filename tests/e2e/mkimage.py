"""Writes two images that hold nothing but busybox, as OCI layouts in tar files: pause.tar and app.tar, into the folder
that is named. containerd needs no registry then."""
import gzip, hashlib, io, json, os, sys, tarfile

BUSYBOX = "/bin/busybox"
APPLETS = ["sh", "sleep", "true", "echo", "cat"]


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def entry(tar, name, data=b"", mode=0o644, link=None):
    info = tarfile.TarInfo(name)
    info.mode, info.size = mode, len(data)
    if link:
        info.type, info.linkname = tarfile.SYMTYPE, link
    tar.addfile(info, io.BytesIO(data))


def layer():
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ["bin", "etc", "proc", "sys", "dev", "tmp"]:
            info = tarfile.TarInfo(folder)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        with open(BUSYBOX, "rb") as busybox:
            entry(tar, "bin/busybox", busybox.read(), 0o755)
        for applet in APPLETS:
            entry(tar, "bin/" + applet, link="busybox")
        entry(tar, "etc/passwd", b"root:x:0:0:root:/root:/bin/sh\n")
        entry(tar, "etc/group", b"root:x:0:\n")
    return out.getvalue()


def write(path, name, config):
    plain = layer()
    packed = gzip.compress(plain, mtime=0)
    arch = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    about = json.dumps({
        "architecture": arch, "os": "linux", "config": config,
        "rootfs": {"type": "layers", "diff_ids": [digest(plain)]},
    }).encode()

    def described(kind, data, **more):
        media = "application/vnd.oci.image." + kind
        return {"mediaType": media, "digest": digest(data), "size": len(data), **more}

    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": described("config.v1+json", about), "layers": [described("layer.v1.tar+gzip", packed)],
    }).encode()
    index = json.dumps({
        "schemaVersion": 2,
        "manifests": [described("manifest.v1+json", manifest, annotations={"io.containerd.image.name": name})],
    }).encode()
    with tarfile.open(path, "w") as tar:
        entry(tar, "oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        for blob in (packed, about, manifest):
            entry(tar, "blobs/sha256/" + digest(blob)[7:], blob)
        entry(tar, "index.json", index)


folder = sys.argv[1]
write(folder + "/pause.tar", "registry.k8s.io/pause:3.10", {"Entrypoint": ["/bin/sleep", "2147483647"]})
write(folder + "/app.tar", "docker.io/library/lab-app:1", {"Env": ["PATH=/bin"], "Cmd": ["/bin/sh"]})
