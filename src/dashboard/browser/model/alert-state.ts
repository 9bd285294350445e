import type { Notification, Recipient } from './answers.ts';

/** A status or an outcome in words; the tone picks its sign and its color. */
export interface Wording {
  readonly text: string;
  readonly tone: 'good' | 'pending' | 'unsure' | 'bad' | 'neutral';
}

const WORDS: ReadonlyMap<string, Wording> = new Map([
  ['waiting', { text: 'Waiting', tone: 'pending' }],
  ['ringing', { text: 'Ringing', tone: 'pending' }],
  ['speaking', { text: 'In the call', tone: 'pending' }],
  ['heard', { text: 'Message played', tone: 'unsure' }],
  ['confirmed', { text: 'Confirmed', tone: 'good' }],
  ['unconfirmed', { text: 'Message played, no key pressed', tone: 'bad' }],
  ['cannot_go', { text: 'Cannot go', tone: 'bad' }],
  ['not_reached', { text: 'Not reached', tone: 'bad' }],
  ['failed', { text: 'Cannot be called', tone: 'bad' }],
  ['stopped', { text: 'Call canceled', tone: 'neutral' }],
  ['cut_short', { text: 'Callee hung up early', tone: 'neutral' }],
  ['no_answer', { text: 'No answer', tone: 'bad' }],
  ['busy', { text: 'Busy', tone: 'bad' }],
  ['declined', { text: 'Declined', tone: 'bad' }],
  ['refused', { text: 'Refused by the network', tone: 'bad' }],
  ['unknown', { text: 'Outcome unknown', tone: 'neutral' }],
]);

/** The words of a recipient's status or of an outcome; an unknown status is shown unchanged. */
export const wordingOf = (status: string): Wording => WORDS.get(status) ?? { text: status, tone: 'neutral' };

const TYPES: ReadonlyMap<string, string> = new Map([
  // On this page "confirmed" means one thing: a callee pressed 1.
  ['ConfirmedFire', 'Fire'],
  ['ReportOfFire', 'Report of fire'],
  ['PointOfInterest', 'Point of interest'],
  ['BurnJob', 'Burn job'],
  ['Custom', 'Drill'],
]);

/** `ConfirmedFire` → `Fire`; an unknown type is shown unchanged. */
export const alertTypeText = (alertType: string): string => TYPES.get(alertType) ?? alertType;

/** `Fire: North ridge` */
export const alertTitle = ({ alert_type: type, details }: Pick<Notification, 'alert_type' | 'details'>): string =>
  details === undefined ? alertTypeText(type) : `${alertTypeText(type)}: ${details}`;

export const isFire = ({ alert_type: type }: Pick<Notification, 'alert_type'>): boolean =>
  type === 'ConfirmedFire' || type === 'ReportOfFire';

/** Operators use `Custom` for drills and tests. */
export const isDrill = ({ alert_type: type }: Pick<Notification, 'alert_type'>): boolean => type === 'Custom';

/** A person has the alert, and its outcome did not become worse afterwards. */
export const isTaken = ({
  acknowledged_by: by,
  worsened_since_acknowledged: worsened,
}: Pick<Notification, 'acknowledged_by' | 'worsened_since_acknowledged'>): boolean =>
  by !== undefined && worsened !== true;

export interface AlertState extends Wording {
  /**
   * `running`: calls are made. `failed`: the calls are over, and too few people confirmed. `unsure`: the calls are over, the message was
   * played, and no person is known to have heard it. `done`: enough people confirmed, or a person stopped the calls.
   */
  readonly stage: 'running' | 'failed' | 'unsure' | 'done';
}

/** The name of a recipient, or their masked number. */
export const nameOf = ({ name, recipient }: Pick<Recipient, 'recipient' | 'name'>): string => name ?? recipient;

const PLAYED = 'Message played (person or voicemail unknown)';

/** The outcome of an alert: the one rule for its words, its color and its section. */
export const alertState = (of: Notification): AlertState => {
  const { status, recipients, confirmations_needed: needed = 1, stopped_by: by } = of;
  const confirmed = recipients.filter((each) => each.status === 'confirmed');
  const [first] = confirmed;
  if (status === 'stopped') {
    return { stage: 'done', text: by === undefined ? 'Stopped' : `Stopped by ${by}`, tone: 'neutral' };
  }
  const isRunning = status === 'in_progress';
  const stageOf = (over: AlertState['stage']) => (isRunning ? 'running' : over);
  if (first !== undefined && confirmed.length >= needed) {
    const people = confirmed.length === 1 ? nameOf(first) : `${confirmed.length} people`;
    return { stage: stageOf('done'), text: `Confirmed by ${people}`, tone: 'good' };
  }
  if (first !== undefined) {
    const text = `${isRunning ? '' : 'Only '}${confirmed.length} confirmed, ${needed} needed`;
    return { stage: stageOf('failed'), text, tone: isRunning ? 'pending' : 'bad' };
  }
  // The service counts these people as reached. A voicemail hears the message, too.
  if (recipients.some((each) => each.status === 'heard')) {
    return { stage: stageOf('unsure'), text: PLAYED, tone: 'unsure' };
  }
  if (isRunning) return { stage: 'running', text: 'Calling', tone: 'pending' };
  return { stage: 'failed', text: failureText(of), tone: 'bad' };
};

const failureText = ({ recipients, phone_off_at: phoneOffAt }: Notification): string => {
  if (phoneOffAt !== undefined) return 'Nobody reached: the phone was switched off';
  return recipients.some(({ status }) => status === 'cannot_go') ? 'Nobody can go' : 'Nobody reached';
};

/**
 * Whether an alert without owner needs a person now: its calls failed. A fire also needs a person until enough people are known to have heard of it. A drill needs no person.
 */
export const needsPerson = (of: Notification): boolean => {
  if (isDrill(of) || isTaken(of)) return false;
  const { stage, tone } = alertState(of);
  return stage === 'failed' || (isFire(of) && stage !== 'done' && tone !== 'good');
};
