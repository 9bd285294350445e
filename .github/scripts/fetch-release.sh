#!/usr/bin/env bash
# Fetches the package of a release and checks where it was built.
#
# Environment: RELEASE, the tag; ATTESTED, whether releases have a provenance; GH_TOKEN and GH_REPO for gh.
set -euo pipefail

: "${RELEASE:?}" "${ATTESTED:?}" "${GH_REPO:?}"

# A workflow that is run by hand may be on a branch, with any name.
if [[ ! $RELEASE =~ ^v[0-9][0-9A-Za-z.-]*$ ]]; then
  echo "$RELEASE is no release: run the workflow on a tag such as v1.2.3."
  exit 1
fi

gh release download "$RELEASE" --pattern 'package.zip*'
if [[ $ATTESTED == true ]]; then
  gh attestation verify package.zip --repo "$GH_REPO"
else
  echo "This repository has no attestations: whoever may change its releases could have put another package there."
fi
