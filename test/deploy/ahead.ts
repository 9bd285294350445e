/**
 * What infra/azure speaks of and src/ does not know yet. A test fails as soon as src/ knows one of them: take it out here, and the tests
 * tie it to src/ from then on.
 */
export const AHEAD = {
  settings: [
    'PHONE',
    'ACS_TEAMS_RESOURCE_ACCOUNT_ID',
    'CALL_ATTEMPTS',
    'CALL_RETRY_SECONDS',
    'NOTIFICATION_DEADLINE_MINUTES',
    'PHONE_ALLOWED_PREFIXES',
    'CALLS_PER_DAY',
    'SWEEP_SCHEDULE',
    'CALL_RETENTION_DAYS',
    'EVENT_RETENTION_DAYS',
  ],
  events: [
    'attempt ended',
    'recipient reached',
    'recipient not reached',
    'day limit reached',
    'notification only in memory',
    'due work unreachable',
  ],
  fields: ['notification_id', 'recipient_index', 'outcome'],
  timers: ['Sweep'],
} as const;

/** Whether it is among them. */
export const isAhead = (kind: keyof typeof AHEAD, name: string): boolean =>
  AHEAD[kind].some((each: string) => each === name);
