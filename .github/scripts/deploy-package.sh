#!/usr/bin/env bash
# Deploys package.zip and waits until the app is healthy. The caller has signed in with az before.
#
# Environment:
# - AZURE_RESOURCE_GROUP, SERVICE_API_NAME, SERVICE_API_URL: names and URL of the app, as azd prints them
# - RELEASE, ENVIRONMENT: for messages
# - DEPLOY_SECONDS: the longest time of the deployment, 720 by default
# - HEALTH_PAUSE_SECONDS: between two checks of the app's health, 5 by default
set -euo pipefail

: "${AZURE_RESOURCE_GROUP:?}" "${SERVICE_API_NAME:?}" "${SERVICE_API_URL:?}" "${RELEASE:?}" "${ENVIRONMENT:?}"
pause=${HEALTH_PAUSE_SECONDS:-5}
roll_back="To roll back: gh workflow run deploy.yml --ref <the release before> --field environment=$ENVIRONMENT"

sha256sum --check package.zip.sha256

# On Flex Consumption this is the only kind of deployment: the zip goes into the deployment container, and Azure builds nothing. The command has
# its own timeout, so that the job's timeout does not end the script before it prints what to do.
if ! timeout --kill-after=30 "${DEPLOY_SECONDS:-720}" az functionapp deployment source config-zip \
  --resource-group "$AZURE_RESOURCE_GROUP" --name "$SERVICE_API_NAME" --src package.zip --build-remote false --timeout 600; then
  echo "Azure did not say that it has deployed $RELEASE. It may have: look at $SERVICE_API_URL/api/health. $roll_back"
  exit 1
fi

# While instances are replaced, an old instance may still answer. So six good answers in a row are required.
good=0
for ((look = 0; look < 60; look++)); do
  if curl --silent --fail --max-time 10 --output /dev/null "$SERVICE_API_URL/api/health"; then
    good=$((good + 1))
    if ((good == 6)); then
      echo "$RELEASE is deployed and healthy."
      exit
    fi
  else
    good=0
  fi
  sleep "$pause"
done
echo "$RELEASE is deployed and not healthy. $roll_back"
exit 1
