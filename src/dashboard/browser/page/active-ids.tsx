import { numbers } from '../parts/numbers.ts';
import { usePart, useShown } from '../parts/shown.ts';
import { CameraLink } from '../parts/view-link.tsx';

/** The active cameras of the period. The page requests the ids only while they are open: there may be over a thousand. */
export const ActiveIds = () => {
  const { state, actions } = useShown();
  const { active_cameras: count = 0, active_camera_ids: ids } = usePart('activity').answer ?? {};
  const wantsIds = state.wants.ids;
  if (count === 0) return null;
  return (
    <details
      class="ids"
      open={wantsIds}
      onToggle={({ currentTarget: { open } }) => {
        if (open !== wantsIds) actions.want({ ids: open });
      }}
    >
      <summary>
        {count === 1 ? 'The active camera' : `The ${numbers.count(count)} active cameras`} of the period
      </summary>
      {wantsIds && ids === undefined ? <p class="note">Loading…</p> : null}
      <ul class="camera-ids">
        {(wantsIds ? (ids ?? []) : []).map((id) => (
          <li key={id}>
            <CameraLink id={id} />
          </li>
        ))}
      </ul>
    </details>
  );
};
