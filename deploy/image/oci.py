"""A writer of container images, by the OCI image specification 1.1."""

import gzip
import io
import json
import tarfile

from rootfs import sha256

MANIFEST = "application/vnd.oci.image.manifest.v1+json"
CONFIG = "application/vnd.oci.image.config.v1+json"
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
INDEX = "application/vnd.oci.image.index.v1+json"


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def compress(content):
    packed = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=9, mtime=0) as stream:
        stream.write(content)
    return packed.getvalue()


def tar(entries, epoch):
    """A tar file of a tree's entries, the same bytes for the same entries."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            header = tarfile.TarInfo(entry.path)
            header.mode, header.mtime = entry.mode, epoch
            header.uid = header.gid = entry.user
            if entry.target is not None:
                header.type, header.linkname = tarfile.SYMTYPE, entry.target
            elif entry.is_folder():
                header.type = tarfile.DIRTYPE
            else:
                header.size = len(entry.content)
            archive.addfile(header, io.BytesIO(entry.content or b""))
    return packed.getvalue()


class Layout:
    """The files of an OCI layout, by their names."""

    def __init__(self):
        self.files = {"oci-layout": canonical({"imageLayoutVersion": "1.0.0"})}

    def blob(self, media_type, content):
        """Adds a blob, and returns its descriptor."""
        digest = sha256(content)
        self.files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}

    def image(self, name, tag, layers, config, annotations, epoch):
        """Adds the only image. `layers`: (comment, entries); `config`: without `rootfs` and `history`."""
        tars = [tar(entries, epoch) for _, entries in layers]
        history = [{"created": config["created"], "created_by": comment} for comment, _ in layers]
        rootfs = {"type": "layers", "diff_ids": [f"sha256:{sha256(each)}" for each in tars]}
        described = [self.blob(LAYER, compress(each)) for each in tars]
        configured = self.blob(CONFIG, canonical(config | {"rootfs": rootfs, "history": history}))
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": configured,
            "layers": described,
            "annotations": annotations,
        }
        reference = self.blob(MANIFEST, canonical(manifest)) | {
            "platform": {"os": config["os"], "architecture": config["architecture"]},
            "annotations": {"org.opencontainers.image.ref.name": f"{name}:{tag}"},
        }
        self.files["index.json"] = canonical({"schemaVersion": 2, "mediaType": INDEX, "manifests": [reference]})
        # The format of `docker save`, for engines that don't load OCI layouts: the same blobs.
        blob_path = "blobs/sha256/{}".format
        self.files["manifest.json"] = canonical([{
            "Config": blob_path(configured["digest"].partition(":")[2]),
            "RepoTags": [f"{name}:{tag}"],
            "Layers": [blob_path(each["digest"].partition(":")[2]) for each in described],
        }])  # fmt: skip
        return reference["digest"]

    def archive(self, epoch):
        """The layout as one tar file."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
            for name in sorted(self.files):
                header = tarfile.TarInfo(name)
                header.size, header.mode, header.mtime = len(self.files[name]), 0o644, epoch
                archive.addfile(header, io.BytesIO(self.files[name]))
        return packed.getvalue()
