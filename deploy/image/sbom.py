"""The image's software bill of materials, as SPDX 2.3 in JSON."""

import hashlib
import json
import re
import urllib.parse
import uuid

import debian
from rootfs import sha256


def spdx_id(*parts):
    return "SPDXRef-" + "-".join(re.sub(r"[^A-Za-z0-9.]+", "-", part) for part in parts)


def purl(its):
    """The URL by which scanners know a package."""
    name, version = (urllib.parse.quote(part, safe="") for part in (its.name, its.version))
    return f"pkg:deb/debian/{name}@{version}?arch={its.architecture}&distro={debian.distribution()}"


def verification_code(checksums):
    """Of the files of a package (SPDX 2.3, 7.9); `checksums`: their SHA-1 sums."""
    return hashlib.sha1("".join(sorted(checksums)).encode(), usedforsecurity=False).hexdigest()


def package_entry(its):
    return {
        "SPDXID": spdx_id("Package", its.name),
        "name": its.name,
        "versionInfo": its.version,
        "supplier": f"Organization: {its.maintainer.partition(' <')[0]}",
        "downloadLocation": "NOASSERTION",
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "sourceInfo": f"built from the Debian source package {its.source} {its.source_version}",
        **({"homepage": its.homepage} if its.homepage else {}),
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": purl(its),
            }
        ],
    }


def document(version, created, entries, linked, own_path):
    """`created`: ISO 8601; `entries`: of all layers; `linked`: packages whose code is part of the binary; `own_path`: of the
    document in the image."""
    own = spdx_id("Package", "sluice")
    packages = {
        "sluice": {
            "SPDXID": own,
            "name": "sluice",
            "versionInfo": version,
            "downloadLocation": "NOASSERTION",
            "licenseConcluded": "MIT",
            "licenseDeclared": "MIT",
            "copyrightText": "NOASSERTION",
            "primaryPackagePurpose": "CONTAINER",
        }
    }
    files, relationships = [], [("SPDXRef-DOCUMENT", "DESCRIBES", own)]
    sums_of = {}  # SHA-1 sums of the files of each package.
    for entry in entries:
        if entry.content is None:
            continue
        file = spdx_id("File", sha256(entry.path.encode())[:16])
        sums = {"SHA1": hashlib.sha1(entry.content, usedforsecurity=False).hexdigest(), "SHA256": sha256(entry.content)}
        files.append({
            "SPDXID": file,
            "fileName": f"./{entry.path}",
            "checksums": [{"algorithm": name, "checksumValue": value} for name, value in sums.items()],
            "licenseConcluded": "NOASSERTION",
            "copyrightText": "NOASSERTION",
        })  # fmt: skip
        if entry.package and entry.package.name not in packages:
            packages[entry.package.name] = package_entry(entry.package)
            kind = "STATIC_LINK" if entry.package in linked else "DEPENDS_ON"
            relationships.append((own, kind, spdx_id("Package", entry.package.name)))
        owner = entry.package.name if entry.package else "sluice"
        sums_of.setdefault(owner, []).append(sums["SHA1"])
        relationships.append((packages[owner]["SPDXID"], "CONTAINS", file))
    for name, package in packages.items():  # Their files are listed, the document itself apart.
        code = {"packageVerificationCodeValue": verification_code(sums_of[name])}
        if name == "sluice":
            code["packageVerificationCodeExcludedFiles"] = [f"./{own_path}"]
        package |= {"filesAnalyzed": True, "packageVerificationCode": code}
    body = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"sluice-{version}",
        "creationInfo": {"created": created, "creators": [f"Tool: sluice-image-{version}"]},
        "packages": sorted(packages.values(), key=lambda each: each["SPDXID"]),
        "files": files,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relationships
        ],
    }
    # The namespace must be unique for each document, and the same for the same one.
    name = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(body, sort_keys=True))
    return (json.dumps(body | {"documentNamespace": f"urn:uuid:{name}"}, indent=1, sort_keys=True) + "\n").encode()
