import { completed, sendAlert } from '../demo/service.ts';

/**
 * The alerts of the picture, in this order. The last two digits of a number decide its story: 00 answers, 06 is busy at first, 08 is busy and then
 * does not answer at first, 01 never answers.
 */
const ALERTS = [
  { alert_type: 'BurnJob', recipients: ['+12065550308', '+12065550200'] },
  // It stays in the strip under the head of the page: the call reaches no callee.
  { alert_type: 'ReportOfFire', recipients: ['+12065550301'], reference: 'bear-creek' },
  { alert_type: 'ConfirmedFire', recipients: ['+12065550300', '+12065550306', '+12065550301'] },
] as const;

/**
 * Sends alerts to a service with a simulated phone, and waits until they are completed. Their idempotency keys keep a second call from phoning again
 * on the same day.
 *
 * @param base the service, without `/api`
 */
export const placeDemoAlerts = async (base: string): Promise<void> => {
  for (const alert of ALERTS) {
    const { alert_type, recipients } = alert;
    const id = await sendAlert(base, alert, `picture-${alert_type}`);
    const people = recipients.length === 1 ? '1 person' : `${recipients.length} people`;
    console.log(`Waiting for ${people} to be reached or given up (${alert_type}) …`);
    await completed(base, id);
  }
};
