import { ALERT_TYPES, type AlertType } from '../../../src/calls/alert-types.ts';
import type { NotificationId } from '../../../src/calls/notification-id.ts';
import { parsePhoneNumber, type PhoneNumber } from '../../../src/calls/phone-number.ts';
import type { Instances } from './instances.ts';
import type { Chance } from './random.ts';
import type { Story } from './story.ts';

const MOST_REQUESTS = 3;
const MOST_RECIPIENTS = 6;
const SENT_WITHIN_MS = 60_000;
const AGAIN_AFTER_MS = 1_500;
// Outside the allowed prefixes: it is never called.
const FORBIDDEN_NUMBER = '+442071838750';

/** A notification request and what it was answered with. */
export interface SentRequest {
  readonly numbers: readonly PhoneNumber[];
  answer: 'none yet' | 'rejected' | NotificationId;
}

/** Sends some notification requests, each with a key and again until it is answered. The list is filled in as the answers come. */
export const sendRequests = (instances: Instances, chance: Chance, story: Story): readonly SentRequest[] => {
  const send = (sent: SentRequest, alertType: AlertType, key: string): void => {
    const again = () => {
      setTimeout(() => send(sent, alertType, key), AGAIN_AFTER_MS);
    };
    const instance = instances.any();
    if (instance === undefined) {
      again();
      return;
    }
    const { life, phone, log, number } = instance;
    const answering = life.during(phone.notifications.send({ alertType, recipients: sent.numbers }, key, log)).then(
      (answer) => {
        story.tell(`#${number} answers ${key}: ${answer.kind}`);
        sent.answer = answer.kind === 'sent' ? answer.id : 'rejected';
      },
      (error: unknown) => {
        story.tell(`#${number} answers ${key}: ${String(error)}`);
        again();
      },
    );
    void life.orElse(answering, again);
  };
  return Array.from({ length: Math.floor(chance.between(1, MOST_REQUESTS + 1)) }, (_, index) => {
    const sent: SentRequest = { numbers: numbersOf(index, chance), answer: 'none yet' };
    const alertType = chance.anyOf(ALERT_TYPES) ?? ALERT_TYPES[0];
    setTimeout(() => send(sent, alertType, `key ${index}`), chance.between(0, SENT_WITHIN_MS));
    return sent;
  });
};

const numbersOf = (request: number, chance: Chance): readonly PhoneNumber[] => {
  const most = Math.floor(chance.between(1, MOST_RECIPIENTS + 1));
  const numbers = Array.from({ length: most }, (_, index) => `+1206555${request}${String(index).padStart(3, '0')}`);
  return [...numbers, ...(chance.happens(0.1) ? [FORBIDDEN_NUMBER] : [])].flatMap(
    (text) => parsePhoneNumber(text) ?? [],
  );
};
