package executives

import "orgops/shared/domain/executive"

// ActionRequest asks for an action.
type ActionRequest struct {
	Action executive.Action      `json:"action" enum:"memory.sync,recommendation.claim,recommendation.dismiss,integration.disable,timeline.note,goal.note,deliveries.recover" doc:"what the executive asks for" example:"timeline.note"`
	Input  executive.ActionInput `json:"input" doc:"the input of the action: provider, and mode if it is given, for memory.sync; recommendationId for recommendation.claim; recommendationId, reason and text, and until if it is given, for recommendation.dismiss; provider for integration.disable; title, and subject if it is given, for timeline.note; goalId and title for goal.note; provider and since, and until if it is given, for deliveries.recover"`
}
