import { type Alerts, counted } from './alert-order.ts';
import { isDrill } from './alert-state.ts';
import type { CameraStates } from './camera-states.ts';
import { type Freshness, freshnessOf, type Problem } from './freshness.ts';
import type { PageState } from './page-state.ts';
import { isPhoneOff } from './refresh.ts';

// The one rule for the health bar, and for title, icon and color of the tab: the worst of four lamps decides.
//
// Bad (red): a fire needs a person, or could burn unnoticed. Warn (amber): check it. Quiet (gray): nothing to do, or not known yet.

export type Level = 'good' | 'quiet' | 'warn' | 'bad';

export interface Lamp {
  readonly name: 'Alerts' | 'Phone' | 'Cameras' | 'Data';
  readonly level: Level;
  readonly text: string;
}

export interface Health {
  readonly lamps: readonly Lamp[];
  /** It decides the icon of the tab. The title names the red and amber lamps. */
  readonly worst: Level;
  /** When the data was true (milliseconds since 1970). */
  readonly asOf: number | undefined;
  readonly problems: readonly Problem[];
  /** `18 of 20 cameras are not sending.`, if they are too many. */
  readonly silence: string | undefined;
  /** Why a fire could burn unnoticed, for the alarm: id → words. */
  readonly outages: ReadonlyMap<string, string>;
}

type Light = readonly [level: Level, text: string];

export const healthOf = (state: PageState, alerts: Alerts, cameras: CameraStates | undefined, now: number): Health => {
  const { locked } = state;
  const freshness = freshnessOf(state, now);
  const phone = phoneOf(state, freshness, now);
  const lights: readonly (readonly [Lamp['name'], Light])[] = [
    ['Alerts', alertLight(state, alerts, freshness)],
    ['Phone', phone.light],
    ['Cameras', cameraLight(cameras)],
    ['Data', dataLight(state, freshness)],
  ];
  const isBlind = freshness.areAlertsOld || locked?.refused === true;
  const blind = phone.problem?.text ?? (isBlind ? 'The page cannot tell whether there are alerts.' : undefined);
  const silence = cameras?.areManySilent === true ? silenceText(cameras) : undefined;
  return {
    lamps: lights.map(([name, [level, text]]) => ({ name, level, text })),
    worst: (['bad', 'warn', 'quiet'] as const).find((worst) => lights.some(([, [level]]) => level === worst)) ?? 'good',
    asOf: freshness.asOf,
    problems: locked === undefined ? [phone.problem ?? [], freshness.problems].flat() : keyProblems(state, freshness),
    silence,
    outages: new Map([
      ...(blind === undefined ? [] : [['outage', blind] as const]),
      ...(silence === undefined ? [] : [[cameras?.sending === 0 ? 'no camera' : 'silence', silence] as const]),
    ]),
  };
};

const alertLight = ({ parts, sawPhone }: PageState, alerts: Alerts, { areAlertsOld }: Freshness): Light => {
  const { openCount, failedCount, drillCount, running } = alerts;
  const drills = drillCount === 0 ? '' : ` · ${counted(drillCount, 'drill')}`;
  if (openCount > 0) return [failedCount > 0 ? 'bad' : 'warn', `${openCount} open${drills}`];
  const isOff = isPhoneOff(parts.attention?.trouble);
  if (areAlertsOld || (isOff && sawPhone)) return ['bad', `unknown${drills}`];
  if (isOff) return ['quiet', `none${drills}`];
  if (parts.attention?.answer === undefined) return ['quiet', `…${drills}`];
  const calm = running.filter((each) => !isDrill(each)).length;
  return calm > 0 ? ['quiet', `${calm} running${drills}`] : ['good', `none open${drills}`];
};

const silenceText = ({ notSending, sending, total }: CameraStates): string =>
  sending === 0 ? 'No camera is sending.' : `${notSending.length} of ${total} cameras are not sending.`;

const cameraLight = (cameras: CameraStates | undefined): Light => {
  if (cameras === undefined) return ['quiet', '…'];
  const { sending, total, areManySilent } = cameras;
  return [areManySilent ? 'bad' : sending < total || total === 0 ? 'quiet' : 'good', `${sending} of ${total}`];
};

const dataLight = ({ locked }: PageState, { standing, oldParts, isBlind }: Freshness): Light => {
  if (locked !== undefined) return ['bad', 'key needed'];
  if (standing === 'loading') return ['quiet', 'loading'];
  if (standing === 'current') return ['good', ''];
  return [isBlind ? 'bad' : 'warn', oldParts.length === 0 ? 'not current' : `not current: ${oldParts.join(', ')}`];
};

/** While the key is refused, the page continues to ask for alerts with the key that it holds. */
const keyProblems = ({ locked, parts }: PageState, { asOf }: Freshness): readonly Problem[] => {
  const answeredAt = parts.attention?.answeredAt ?? asOf;
  if (answeredAt === undefined) return [];
  const text =
    locked?.refused === true
      ? 'The service refuses the key. The page asks for alerts once a minute, and for a new key.'
      : 'The service asks for a key now. The page asks for alerts once a minute.';
  return [{ text, asOf: answeredAt, nextAt: parts.attention?.nextAt }];
};

/** Whether the service can call people; a problem only if this service has a phone, or this tab saw one. */
const phoneOf = (
  { parts: { attention }, sawPhone, times }: PageState,
  { areAlertsOld }: Freshness,
  now: number,
): { readonly light: Light; readonly problem?: Problem } => {
  const { answer, trouble, answeredAt: asOf, nextAt } = attention ?? {};
  if (isPhoneOff(trouble)) {
    if (!sawPhone) return { light: ['quiet', 'not used here'] };
    const text = 'The phone is switched off: the service calls no person. It was started with PHONE=off.';
    return { light: ['bad', 'off'], problem: { text, asOf, nextAt } };
  }
  if (answer?.phone === undefined) return { light: ['quiet', '…'] };
  if (!answer.phone.usable) {
    const { since, reason } = answer.phone;
    const from = since === undefined ? '' : ` (since ${times.moment(Math.min(Date.parse(since), now)).text})`;
    const text = `The service cannot place calls${from}${reason === undefined ? '' : `: ${reason}`}.`;
    // The answer itself is current.
    return { light: ['bad', 'cannot call'], problem: { text, asOf, nextAt } };
  }
  return { light: areAlertsOld ? ['quiet', 'unknown'] : ['good', 'ready'] };
};
