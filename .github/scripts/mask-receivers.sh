#!/usr/bin/env bash
# Masks the receivers of alerts in the log of the job. GitHub masks only complete secrets, and what-if prints each address and number of a secret alone.
#
# Environment: ALERT_EMAIL, ALERT_SMS, ALERT_VOICE, ALERT_WEBHOOK; several separated by commas, numbers as "1 2065550100".
set -euo pipefail

tr ', ' '\n\n' <<< "${ALERT_EMAIL:-},${ALERT_SMS:-},${ALERT_VOICE:-},${ALERT_WEBHOOK:-}" | while read -r part; do
  # A country code is not a secret. Masking it would hide parts of many other numbers in the log.
  if ((${#part} > 3)); then echo "::add-mask::$part"; fi
done
