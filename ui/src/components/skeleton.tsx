import { strings } from '../strings.ts'

/** Stands where content will be, from the moment it is asked for. */
export const Skeleton = () => (
  <div className="skeleton" role="status">
    <span className="hidden">{strings.loading}</span>
    <span />
    <span />
    <span />
    <span />
  </div>
)
