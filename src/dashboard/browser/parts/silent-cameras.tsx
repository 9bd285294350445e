import { KNOWN_DAYS } from '../model/questions.ts';
import { SILENT_MINUTES } from '../model/spans.ts';
import { lengthText } from '../model/times.ts';
import { DataTable } from './data-table.tsx';
import { useSilenceNote } from './figures.tsx';
import { useShown } from './shown.ts';
import { CameraLink } from './view-link.tsx';
import { Card, Time } from './words.tsx';

const LAST_DAY = { kind: 'last', length: '24h' } as const;

export const SilentCameras = () => {
  const { silence, now } = useShown();
  const note = useSilenceNote();
  return (
    <Card id="silent" title="Silent cameras" note={note} busy={silence === undefined}>
      {silence === undefined ? null : silence.cameras.length === 0 ? (
        <p class="empty">
          Every camera of the last {KNOWN_DAYS} days sent a frame in the last {SILENT_MINUTES} minutes.
        </p>
      ) : (
        <DataTable
          title="Silent cameras"
          columns={[
            { name: 'Camera', cell: ({ camera_id: id }) => <CameraLink id={id} span={LAST_DAY} /> },
            { name: 'Last frame', cell: ({ last_event_at: at }) => <Time at={at} /> },
            { name: 'Age', isNumber: true, cell: ({ last_event_at: at }) => lengthText(now - Date.parse(at)) },
          ]}
          rows={silence.cameras}
          rowKey={({ camera_id: id }) => id}
        />
      )}
    </Card>
  );
};
