#!/usr/bin/env bash
# Masks who gets the alerts in the log of the job. GitHub masks a secret as a whole, and what-if prints each address and number of it on its own.
#
# Environment: ALERT_EMAIL, ALERT_SMS, ALERT_VOICE, ALERT_WEBHOOK; several separated by commas, numbers as "1 2065550100".
set -euo pipefail

tr ', ' '\n\n' <<< "${ALERT_EMAIL:-},${ALERT_SMS:-},${ALERT_VOICE:-},${ALERT_WEBHOOK:-}" | while read -r part; do
  # A country code is no secret, and masked it would blot out every number that it is in.
  if ((${#part} > 3)); then echo "::add-mask::$part"; fi
done
