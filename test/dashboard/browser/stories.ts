import { NOON } from './activity.ts';
import type { Told } from './service.ts';

type Person = Told['recipients'][number];
type Attempt = Person['attempts'][number];

const at = (secondsBeforeNoon: number): string => new Date(NOON - secondsBeforeNoon * 1_000).toISOString();

/** An attempt, its times in seconds before noon. */
const attempt = (placed: number, ended: number | undefined, rest: Partial<Attempt> = {}): Attempt => ({
  call_connection_id: `call-${placed}`,
  placed_at: at(placed),
  ...(ended !== undefined && { ended_at: at(ended) }),
  ...rest,
});

const HEARD = { outcome: 'heard' } as const;
const NO_ANSWER = { outcome: 'no_answer', code: 480, sub_code: 560_480, reason: 'no answer' } as const;
const BUSY = { outcome: 'busy', code: 486, sub_code: 560_486, reason: 'busy' } as const;

const person = (lastDigits: string, status: Person['status'], ...attempts: Attempt[]): Person => ({
  recipient: `+1206•••••${lastDigits}`,
  status,
  attempts,
});

const story = (id: string, type: Told['alert_type'], created: number, ...recipients: Person[]): Told => ({
  notification_id: id,
  alert_type: type,
  created_at: at(created),
  status: 'completed',
  reached: recipients.filter(({ status }) => status === 'heard' || status === 'confirmed').length,
  confirmed_by: recipients.flatMap(({ status }, index) => (status === 'confirmed' ? index : [])),
  recipients,
});

/** Three waves: the first did not answer, the second confirmed, the third was stopped. */
export const WAVES: Told = {
  ...story(
    'waves',
    'ReportOfFire',
    600,
    {
      ...person('10', 'not_reached', attempt(598, 538, NO_ANSWER), attempt(478, 440, { outcome: 'unconfirmed' })),
      wave: 1,
    },
    { ...person('11', 'confirmed', attempt(478, 430, { outcome: 'confirmed' })), wave: 2 },
    { ...person('12', 'stopped'), wave: 3 },
  ),
  reference: 'ridge-04 https://example.org/camera/ridge-04',
};

/** One was not reached, one waits for the next attempt, one rings. */
export const RUNNING: Told = {
  ...story(
    'running',
    'ConfirmedFire',
    90,
    person('00', 'not_reached', attempt(88, 60, NO_ANSWER)),
    {
      ...person('01', 'waiting', attempt(88, 58, NO_ANSWER)),
      code: 'redial',
      reason: 'no answer',
      since: at(58),
      next_attempt_at: at(-2),
    },
    person('02', 'ringing', attempt(8, undefined)),
  ),
  status: 'in_progress',
};

/** All is well. */
export const quiet = (id: string): Told =>
  story(id, 'Anomaly', 2_000, person('55', 'heard', attempt(1_990, 1_960, HEARD)));

/** One was not reached in three attempts, and many were heard. */
export const MISSED: Told = story(
  'missed',
  'ReportOfFire',
  4_000,
  ...Array.from({ length: 29 }, () => person('55', 'heard', attempt(3_990, 3_960, HEARD))),
  person('77', 'not_reached', attempt(900, 870, NO_ANSWER), attempt(800, 770, BUSY), attempt(700, 670, NO_ANSWER)),
);

/** Its texts would do harm if they were markup. */
export const HARMFUL: Told = {
  ...story(
    '<img src=x onerror="window.harmed=1">/../?a=b#c',
    'Custom',
    9_000,
    person('99', 'failed', attempt(8_990, 8_980, { outcome: 'refused', reason: '<b onclick="harmed=1">blocked</b>' })),
  ),
  reference: '<script>window.harmed=1</script>',
};
