// A network for the app (VNET_ENABLED): it carries the app's outbound traffic, and has private endpoints of storage. The app itself stays
// public, because Communication Services and Event Grid must reach it.
param name string
param location string
param tags object

@description('The storage account that gets private endpoints.')
param storageAccountId string

var services = ['blob', 'table']

resource network 'Microsoft.Network/virtualNetworks@2024-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: { addressPrefixes: ['10.0.0.0/16'] }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: '10.0.0.0/24'
          // Flex Consumption uses the infrastructure of Container Apps. The name of the subnet must have no underscore.
          delegations: [
            {
              name: 'flex'
              properties: { serviceName: 'Microsoft.App/environments' }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.0.1.0/24'
          privateEndpointNetworkPolicies: 'Disabled'
        }
      }
    ]
  }
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for service in services: {
    name: 'privatelink.${service}.${environment().suffixes.storage}'
    location: 'global'
    tags: tags
  }
]

resource links 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (service, index) in services: {
    parent: zones[index]
    name: '${name}-${service}'
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: { id: network.id }
    }
  }
]

resource endpoints 'Microsoft.Network/privateEndpoints@2024-05-01' = [
  for service in services: {
    name: '${name}-${service}'
    location: location
    tags: tags
    properties: {
      subnet: { id: network.properties.subnets[1].id }
      privateLinkServiceConnections: [
        {
          name: service
          properties: {
            privateLinkServiceId: storageAccountId
            groupIds: [service]
          }
        }
      ]
    }
  }
]

resource names 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2024-05-01' = [
  for (service, index) in services: {
    parent: endpoints[index]
    name: 'default'
    properties: {
      privateDnsZoneConfigs: [
        {
          name: service
          properties: { privateDnsZoneId: zones[index].id }
        }
      ]
    }
  }
]

output appSubnetId string = network.properties.subnets[0].id
