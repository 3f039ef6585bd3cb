import { useContext } from 'react'
import { OverlayTriggerStateContext } from 'react-aria-components/Dialog'
import { Popover, type PopoverProps } from 'react-aria-components/Popover'

/** A popover below its button. It is a part of the page's main landmark, for people who go from one to the next. */
export function PagePopover(props: Pick<PopoverProps, 'placement' | 'children'>) {
  // at the first render the landmark is not there yet: look for it when the popover opens
  useContext(OverlayTriggerStateContext)
  const main = document.getElementById('main') ?? document.body
  return <Popover {...props} className="popover" UNSTABLE_portalContainer={main} />
}
