import type { Notification, Notifications as NotificationList } from '../model/answers.ts';
import { alertTypeText, recipientsText } from '../model/call-words.ts';
import type { Panel } from '../model/page-state.ts';
import { isPhoneOff } from '../model/refresh.ts';
import type { Actions } from './actions.ts';
import { NotificationStory } from './notification-story.tsx';
import { StatusMark } from './status-mark.tsx';
import { Time } from './time.tsx';
import { TroubleNote } from './trouble-note.tsx';

/** What the notifications need. */
export interface NotificationsProps {
  readonly panel: Panel<NotificationList>;
  readonly story: Panel<Notification>;
  readonly open: string | undefined;
  readonly actions: Actions;
}

/** The newest notifications; for the one that is open, every attempt to reach every person. */
export const Notifications = ({ panel: { answer, trouble }, story, open, actions }: NotificationsProps) => {
  const off = trouble !== undefined && isPhoneOff(trouble);
  return (
    <section
      class="card"
      aria-labelledby="notifications-title"
      aria-busy={answer === undefined && trouble === undefined}
    >
      <div class="head">
        <h2 id="notifications-title">Recent notifications</h2>
      </div>
      {off ? (
        <p class="note">{trouble.detail || 'This service lists no notifications.'}</p>
      ) : (
        <TroubleNote trouble={trouble} />
      )}
      {answer !== undefined && answer.notifications.length === 0 ? (
        <p class="empty">Nobody has been phoned yet.</p>
      ) : null}
      <ul class="notifications">
        {answer?.notifications.map((notification) => {
          const id = notification.notification_id;
          const isOpen = id === open;
          return (
            <li key={id}>
              <button
                type="button"
                class="notification"
                aria-expanded={isOpen}
                onClick={() => actions.openNotification(isOpen ? undefined : id)}
              >
                <span class="what">{alertTypeText(notification.alert_type)}</span>
                <StatusMark status={notification.status} />
                <span class="who">{recipientsText(notification.recipients)}</span>
                <span class="when">
                  <Time at={notification.created_at} />
                </span>
              </button>
              {isOpen ? <NotificationStory panel={story} /> : null}
            </li>
          );
        })}
      </ul>
    </section>
  );
};
