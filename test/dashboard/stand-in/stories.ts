import type { Notification } from '../../../src/dashboard/browser/model/answers.ts';

const at = (secondsAgo: number): string =>
  new Date(Date.now() - secondsAgo * 1_000).toISOString().replace(/\.\d+Z$/, '+00:00');

/** A story of three waves: the first did not answer, the second confirmed, the third was stopped. */
export const waveStory = (): Notification => ({
  notification_id: 'n-4-waves',
  alert_type: 'ReportOfFire',
  reference: 'ridge-04 https://example.org/camera/ridge-04',
  created_at: at(600),
  status: 'completed',
  recipients: [
    {
      recipient: '+1206•••••10',
      wave: 1,
      status: 'not_reached',
      attempts: [
        {
          call_connection_id: 'call-41',
          placed_at: at(598),
          ended_at: at(538),
          outcome: 'no_answer',
          code: 480,
          sub_code: 0,
        },
        { call_connection_id: 'call-42', placed_at: at(478), ended_at: at(440), outcome: 'unconfirmed' },
      ],
    },
    {
      recipient: '+1206•••••11',
      wave: 2,
      status: 'confirmed',
      attempts: [{ call_connection_id: 'call-43', placed_at: at(478), ended_at: at(430), outcome: 'confirmed' }],
    },
    { recipient: '+1206•••••12', wave: 3, status: 'stopped', attempts: [] },
  ],
});

/** One notification of each kind: completed, in progress, and one that would do harm if its texts were markup. */
export const believableStories = (): readonly Notification[] => [
  {
    notification_id: 'n-3-in-progress',
    alert_type: 'ConfirmedFire',
    created_at: at(90),
    status: 'in_progress',
    recipients: [
      {
        recipient: '+1206•••••00',
        status: 'heard',
        attempts: [
          {
            call_connection_id: 'call-31',
            placed_at: at(88),
            ended_at: at(60),
            outcome: 'heard',
            code: 200,
            sub_code: 0,
          },
        ],
      },
      {
        recipient: '+1206•••••01',
        status: 'waiting',
        reason: 'no answer',
        attempts: [
          {
            call_connection_id: 'call-32',
            placed_at: at(88),
            ended_at: at(58),
            outcome: 'no_answer',
            code: 480,
            sub_code: 560_480,
            reason: 'no answer',
          },
        ],
        next_attempt_at: at(-2),
      },
      { recipient: '+1206•••••02', status: 'ringing', attempts: [{ call_connection_id: 'call-33', placed_at: at(8) }] },
    ],
  },
  {
    notification_id: 'n-2-completed',
    alert_type: 'ReportOfFire',
    created_at: at(4_000),
    status: 'completed',
    recipients: [
      {
        recipient: '+6421•••••77',
        status: 'not_reached',
        attempts: [1, 2, 3].map((attempt) => ({
          call_connection_id: `call-2${attempt}`,
          placed_at: at(4_000 - attempt * 90),
          ended_at: at(3_970 - attempt * 90),
          outcome: attempt === 2 ? 'busy' : 'no_answer',
          code: attempt === 2 ? 486 : 480,
          sub_code: attempt === 2 ? 560_486 : 560_480,
        })),
      },
    ],
  },
  {
    notification_id: '<img src=x onerror="window.harmed=1">/../?a=b#c',
    alert_type: 'Custom',
    created_at: at(9_000),
    status: 'completed',
    recipients: [
      {
        recipient: '+1206•••••99',
        status: 'failed',
        reason: '<b onmouseover="window.harmed=1">blocked</b>',
        attempts: [],
      },
    ],
  },
];
