import { NewPodRole, PodRoleEditor } from './editor/pod-role-editor.tsx'
import { Roles } from './roles.tsx'

/** The roles of a mount of type `kubernetes`. */
export const PodRoles = ({ mount }: { readonly mount: string }) => (
  <Roles mount={mount} New={NewPodRole} Edit={PodRoleEditor} />
)
